package skeleton

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinkFrames(t *testing.T) {
	var b bytes.Buffer
	if err := writeFrame(&b, kindRecord, 1<<40, []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(b.Bytes())
	kind, number, frame, err := readFrame(&b)
	if err != nil || kind != kindRecord || number != 1<<40 || string(frame) != `{"a":1}` {
		t.Errorf("%c %d %s %v", kind, number, frame, err)
	}
	for n := range len(whole) {
		if _, _, _, err := readFrame(bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("a frame cut to %d bytes was read", n)
		}
	}
	whole[9] = 0xff
	if _, _, _, err := readFrame(bytes.NewReader(whole)); err == nil {
		t.Error("a length of 4 GiB was believed")
	}
}

func TestStamp(t *testing.T) {
	got := string(stamp([]byte(`{"sender":"a","payload":"x"}`), 7, "hub"))
	if want := `{"seq":7,"hub_id":"hub","sender":"a","payload":"x"}`; got != want {
		t.Errorf("stamp: %s, want %s", got, want)
	}
}

func TestUsageIsRefused(t *testing.T) {
	var out bytes.Buffer
	for _, args := range [][]string{nil, {"--nonsense"}, {"--dir", "x", "more"}} {
		if code := Main(t.Context(), args, &out, &out); code != 2 {
			t.Errorf("Main(%q): exit code %d, want 2", args, code)
		}
	}
}
