package clientlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fleetrelay/hub/wire"
)

// Suffix ends the name of every client log.
const Suffix = ".jsonl"

// maxLine bounds one line read back: an entry holds names and digests, never a body.
const maxLine = 1 << 20

// Writer appends entries to one file. It is safe for concurrent use; the order of lines is the order of Write calls.
type Writer struct {
	mu   sync.Mutex
	file *os.File
	conn uint64
}

// Create opens dir/name.jsonl for appending, creating it and the folder. Slashes in name become underscores.
func Create(dir, name string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("client log folder: %w", err)
	}
	path := filepath.Join(dir, strings.NewReplacer("/", "_", "@", "_at_").Replace(name)+Suffix)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("client log: %w", err)
	}
	return &Writer{file: file}, nil
}

// Write appends one entry in one write. A Joined entry opens the next connection number; every entry gets the current
// one. An error means the evidence is incomplete: the run must end.
func (w *Writer) Write(e Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Kind == Joined {
		w.conn++
	}
	e.Conn = w.conn
	line, err := wire.Marshal(e)
	if err != nil {
		return fmt.Errorf("client log entry: %w", err)
	}
	if _, err := w.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("client log write: %w", err)
	}
	return nil
}

// Close closes the file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.file.Close()
}

// Files lists the client logs of a folder in a stable order.
func Files(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+Suffix))
	if err != nil {
		return nil, fmt.Errorf("list client logs: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// ErrTorn marks a last line that was cut while being written; the entries before it are whole.
var ErrTorn = errors.New("the last line of a client log is torn")

// Read hands every entry of r to fn, in order, one line in memory at a time. A last line without its end is reported
// as ErrTorn after all whole lines; a bad line anywhere else is an error that names its number.
func Read(r io.Reader, fn func(line int, e Entry) error) error {
	return Lines(r, maxLine, func(number int, line []byte) error {
		var e Entry
		if err := wire.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		return fn(number, e)
	})
}

// Lines hands every complete line of r, at most limit bytes long, to fn without its end. The slice is valid during the
// call only. Bytes after the last line end are ErrTorn.
func Lines(r io.Reader, limit int, fn func(number int, line []byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for number := 1; ; {
		part, err := in.ReadSlice('\n')
		if len(long)+len(part) > limit {
			return fmt.Errorf("line %d is longer than %d bytes", number, limit)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
			continue
		case errors.Is(err, io.EOF):
			if len(long)+len(part) > 0 {
				return ErrTorn
			}
			return nil
		case err != nil:
			return fmt.Errorf("line %d: %w", number, err)
		}
		line := part
		if len(long) > 0 {
			line = append(long, part...)
			long = long[:0]
		}
		if err := fn(number, line[:len(line)-1]); err != nil {
			return err
		}
		number++
	}
}
