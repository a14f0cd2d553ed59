package load

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what processes used, summed.
type Usage struct {
	CPU     time.Duration
	Written uint64 // bytes handed to the disk
	RSS     uint64 // resident bytes now
	PeakRSS uint64 // the most that was resident, each process by itself
}

// clockTick is the kernel's unit of CPU time in /proc: 100 a second on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// UsageOf adds up what the processes used so far. Figures that the system does not give are zero.
func UsageOf(pids []int) Usage {
	var sum Usage
	for _, pid := range pids {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		sum.CPU += cpuOf(proc)
		sum.Written += field(proc, "io", "write_bytes:")
		sum.RSS += field(proc, "status", "VmRSS:") * 1024
		sum.PeakRSS += field(proc, "status", "VmHWM:") * 1024
	}
	return sum
}

// cpuOf reads user and system time: fields 14 and 15 of stat, counted from behind the parenthesised name.
func cpuOf(proc string) time.Duration {
	text, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	return time.Duration(parse(fields[11])+parse(fields[12])) * clockTick
}

// field is the number after a name in one of the files of a process.
func field(proc, file, name string) uint64 {
	text, err := os.ReadFile(filepath.Join(proc, file))
	if err != nil {
		return 0
	}
	_, rest, found := strings.Cut(string(text), name)
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0
	}
	return parse(fields[0])
}

func parse(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// filesOf is the size of all files in a folder. Files that go meanwhile do not count.
func filesOf(dir string) (sum uint64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			sum += uint64(info.Size())
		}
		return nil
	})
	return sum
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// SyncRate measures the disk under a folder: appends of 4 KiB, each synced, for a span. It returns them per second.
func SyncRate(dir string, span time.Duration) (float64, error) {
	file, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	page := make([]byte, 4096)
	n := 0
	start := time.Now()
	for time.Since(start) < span {
		if _, err := file.Write(page); err != nil {
			return 0, fmt.Errorf("sync rate: %w", err)
		}
		if err := file.Sync(); err != nil {
			return 0, fmt.Errorf("sync rate: %w", err)
		}
		n++
	}
	return float64(n) / time.Since(start).Seconds(), nil
}
