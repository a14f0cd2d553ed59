package frame

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func helloFrame(t *testing.T, in []byte) Frame {
	t.Helper()
	f, err := NewReader(bytes.NewReader(in), 0).Next()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestUnknownOffer(t *testing.T) {
	if got := UnknownOffer(helloFrame(t, vectorNamed(t, "frame-hello").bytes(t))); len(got) > 0 {
		t.Errorf("%q of an offer of this version", got)
	}
	got := UnknownOffer(helloFrame(t, vectorNamed(t, "frame-hello-offer-unknown").bytes(t)))
	if diff := cmp.Diff([]string{"delivery"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A peer can offer as much as fits into a header; what is kept of it to be shown is bounded.
func TestUnknownOfferIsBounded(t *testing.T) {
	h := helloGolden()
	header := string(h.Append(nil)[PrefixBytes:])
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, `"%d\u001b[2J\r\n%s":0,`, i, strings.Repeat("é", 50))
	}
	header = strings.Replace(header, `"offer":{`, `"offer":{`+many.String(), 1)
	in := endHeader(append(appendPrefix(nil), header...), 0, 0)
	f := helloFrame(t, in)
	if _, _, err := ParseHello(f, Speaks(0)); err != nil {
		t.Fatal(err)
	}
	got := UnknownOffer(f)
	if len(got) != maxUnknown {
		t.Errorf("%d names", len(got))
	}
	for _, name := range got {
		if len(name) > maxReason || strings.Trim(name, "0123456789J?") != "" { // nothing that a terminal would act on
			t.Errorf("%q", name)
		}
	}
}
