package journal

import (
	"encoding/hex"
	"testing"
)

// Layout 1 of link_backoff had no revocation; journals hold such events for ever.
func TestLinkBackoffLayout1(t *testing.T) {
	attrs, err := hex.DecodeString("0a0b6661722e6578616d706c6510031a1363657274696669636174655f7265667573656420d7a5c9fea8b09803")
	if err != nil {
		t.Fatal(err)
	}
	ev := NewEvent(1, 2, LinkBackoff{})
	ev.Format, ev.Attrs = 1, attrs
	got, err := ev.Record()
	want := LinkBackoff{Peer: "far.example", Attempts: 3, Reason: "certificate_refused", NextUS: 1796063246832343}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}
