package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var known = []string{"journal.apply", "journal.sync", "key.rename"}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		list string
		want []Point
		bad  bool
	}{
		{list: "", want: nil},
		{list: "  ", want: nil},
		{list: "journal.apply=kill", want: []Point{{"journal.apply", 1, Kill}}},
		{list: "journal.sync:17=error, key.rename=kill", want: []Point{{"journal.sync", 17, Error}, {"key.rename", 1, Kill}}},
		{list: "journal.apply", bad: true},
		{list: "journal.apply=stop", bad: true},
		{list: "journal.apply:0=kill", bad: true},
		{list: "journal.apply:x=kill", bad: true},
		{list: "journal.aply=kill", bad: true},
		{list: "journal.apply=kill,", bad: true},
	} {
		got, err := Parse(tc.list, known)
		if (err != nil) != tc.bad {
			t.Errorf("Parse(%q): error %v, want one: %v", tc.list, err, tc.bad)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("Parse(%q): %s", tc.list, diff)
		}
	}
}

func TestHitFiresOnceAtItsCount(t *testing.T) {
	killed := 0
	s := New([]Point{{"journal.sync", 3, Error}, {"journal.apply", 2, Kill}}, func() { killed++ })
	for hit := 1; hit <= 5; hit++ {
		if err := s.Hit("journal.sync"); errors.Is(err, ErrInjected) != (hit == 3) {
			t.Errorf("hit %d of journal.sync: %v", hit, err)
		}
	}
	for hit := 1; hit <= 3; hit++ {
		s.Hit("journal.apply")
	}
	if killed != 1 {
		t.Errorf("killed %d times, want once", killed)
	}
	if err := new(Set).Hit("journal.sync"); err != nil {
		t.Errorf("the zero set fired: %v", err)
	}
}

// TestKillIsSIGKILL runs itself as a child that hits a kill point.
func TestKillIsSIGKILL(t *testing.T) {
	if os.Getenv("FAILPOINT_CHILD") == "1" {
		defer os.Exit(3) // must not run
		New([]Point{{"journal.sync", 1, Kill}}, nil).Hit("journal.sync")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillIsSIGKILL$")
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("the child ended with %v: %s", err, strings.TrimSpace(string(out)))
	}
	if status := exit.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, want SIGKILL", exit)
	}
}
