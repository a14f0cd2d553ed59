package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestMeasureSync(t *testing.T) {
	dir := t.TempDir()
	times, err := measureSync(t.Context(), dir)
	if err != nil || len(times) != syncs || !slices.IsSorted(times) {
		t.Errorf("%d times, %v", len(times), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	var r Report
	if r.disk(t.Context(), filepath.Join(dir, "none")); r.Steps[0].State != Skipped {
		t.Errorf("%+v", r.Steps)
	}
}

func TestShortTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		3: "3ns", 1234: "1.23µs", 123456: "123µs", 1234567: "1.23ms", 12345678: "12.3ms", 1234567890: "1.23s", 98 * time.Second: "1m38s",
	} {
		if got := shortTime(d).String(); got != want {
			t.Errorf("%d is %s, not %s", d, got, want)
		}
	}
}

func TestReport(t *testing.T) {
	var r Report
	r.ok("a", "", "well")
	r.skip("b", "", "not looked at")
	if n, first := r.Wanting(); n != 0 || first.Name != "" {
		t.Errorf("%d, %+v", n, first)
	}
	r.fail("c", "x", os.ErrPermission)
	r.fail("d", "x", os.ErrNotExist)
	if n, first := r.Wanting(); n != 2 || first.Name != "c" || first.Reason != "permission_denied" || first.Next.String() == "" {
		t.Errorf("%d, %+v", n, first)
	}
}
