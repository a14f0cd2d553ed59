package bare

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatIsCommittedIsThereAgain(t *testing.T) {
	dir := t.TempDir()
	for life, want := range []uint64{0, 2, 3} {
		l, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		last, err := l.Last()
		if err != nil || last != want {
			t.Errorf("life %d begins after %d, %v, want %d", life, last, err, want)
		}
		records := []Record{{last + 1, []byte("x")}, {last + 2, []byte("y")}}
		if err := l.Commit(records[:2-min(life, 1)]); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
