package relay

import (
	"crypto/sha256"
	"testing"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// taken is what the intake of beta makes of one record of alpha.
func taken(t *testing.T, kind wire.LaneKind, body string, change func(o *frame.Origin)) hub.InRecord {
	t.Helper()
	o, _ := record(1)
	o.Kind, o.Digest = kind, sha256.Sum256([]byte(body))
	if change != nil {
		change(&o)
	}
	in := &intake{peer: alpha, epoch: 1}
	copy(in.epochID[:], "epoch of "+alpha)
	recs, err := in.take(frame.Records{First: 1, Items: []frame.Record{{Origin: o.Append(nil), Body: []byte(body)}}})
	if err != nil || len(recs) != 1 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	if want := o.LaneLink().Next([32]byte{}); recs[0].LaneHash != want {
		t.Error("the lane has another hash")
	}
	return recs[0]
}

// Each kind of record is read for what it is, and what cannot be read is refused.
func TestIntakeByKind(t *testing.T) {
	const said = `{"verdicts":[{"lane_seq":7,"state":"deferred","hub_seq":44,"hub_msg_id":12,"recipients":["demo/bob"],"stale":[],"wake":{},"reason":"","dead_lettered":false}]}`
	for name, c := range map[string]struct {
		kind   wire.LaneKind
		body   string
		change func(o *frame.Origin)
		want   wire.Reason
	}{
		"chat":                    {wire.LaneChat, `{"payload":1}`, nil, ""},
		"receipt":                 {wire.LaneReceipt, said, nil, ""},
		"receipt of another hub":  {wire.LaneReceipt, said, func(o *frame.Origin) { o.Hub = "gamma" }, wire.ReasonWrongOrigin},
		"altered receipt":         {wire.LaneReceipt, said, func(o *frame.Origin) { o.Digest[0]++ }, wire.ReasonDigestMismatch},
		"a chat as a receipt":     {wire.LaneReceipt, `{"payload":1}`, nil, wire.ReasonMalformedReceipt},
		"receipt without a body":  {wire.LaneReceipt, ``, nil, wire.ReasonMalformedReceipt},
		"receipt with more space": {wire.LaneReceipt, said + " ", nil, wire.ReasonMalformedReceipt},
		"withdrawn":               {wire.LaneWithdrawn, ``, func(o *frame.Origin) { o.Digest[0]++ }, ""},
		"withdrawn with a body":   {wire.LaneWithdrawn, `{"payload":1}`, nil, wire.ReasonMalformedOrigin},
		"a receipt as a chat":     {wire.LaneChat, said, nil, ""}, // an odd chat, and nothing else
	} {
		rec := taken(t, c.kind, c.body, c.change)
		if rec.Refuse != c.want || rec.Kind != c.kind {
			t.Errorf("%s: %v refused %q, want %q", name, rec.Kind, rec.Refuse, c.want)
		}
		if c.want == "" && (rec.Verdicts != nil) != (c.kind == wire.LaneReceipt) {
			t.Errorf("%s: verdicts %v", name, rec.Verdicts)
		}
	}
	in := &intake{peer: alpha, epoch: 1}
	copy(in.epochID[:], "epoch of "+alpha)
	o, _ := record(1)
	o.Kind, o.Digest = wire.LaneReceipt, sha256.Sum256([]byte(said))
	for sent, want := range map[uint64]wire.Reason{6: wire.ReasonMalformedReceipt, 7: ""} {
		in.sent = func() uint64 { return sent }
		out := hub.InRecord{Body: []byte(said)}
		if got := in.verdict(&out, &o); got != want {
			t.Errorf("a receipt for record 7 of %d that left: %q, want %q", sent, got, want)
		}
	}
	if rec := taken(t, wire.LaneReceipt, said, nil); len(rec.Verdicts) != 1 || rec.Verdicts[0].LaneSeq != 7 || rec.Verdicts[0].State != wire.VerdictDeferred {
		t.Errorf("read %+v", rec.Verdicts)
	}
	asked := taken(t, wire.LaneChat, `{"receipt_requested":true}`, nil)
	if silent := taken(t, wire.LaneChat, `{"receipt_requested":false}`, nil); !asked.ReceiptRequested || silent.ReceiptRequested {
		t.Error("whether a receipt is asked for is not seen")
	}
}
