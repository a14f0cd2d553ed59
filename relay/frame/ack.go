package frame

import (
	"strconv"

	"fleetrelay/hub/wire"
)

// MaxRefused is the largest number of refusals in one ack; a receiver with more sends several acks.
const MaxRefused = 512

// Ack says that everything up to and including Seq of the receiver's lane is durable here. Refused lists, in ascending
// order, which of the records since the previous ack were not admitted; they are settled like the others.
type Ack struct {
	Seq     uint64
	Refused []Refused
}

// Refused is one record that was not admitted.
type Refused struct {
	Seq    uint64
	Reason wire.Reason
}

// Append appends the whole frame.
func (a *Ack) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(appendPrefix(dst), `{"type":"ack","seq":`...)
	dst = strconv.AppendUint(dst, a.Seq, 10)
	dst = append(dst, `,"refused":[`...)
	for i, r := range a.Refused {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"seq":`...)
		dst = strconv.AppendUint(dst, r.Seq, 10)
		dst = append(dst, `,"reason":`...)
		dst = wire.AppendString(dst, string(r.Reason))
		dst = append(dst, '}')
	}
	return endHeader(append(dst, "]}"...), start, 0)
}

// refusedJSON is the form of one refusal in the header.
type refusedJSON struct {
	Seq    uint64 `json:"seq"`
	Reason string `json:"reason"`
}

// ParseAck reads an ack: refusals ascending, none above Seq, at most [MaxRefused].
func ParseAck(f Frame) (Ack, error) {
	if f.Type != wire.LinkAck {
		return Ack{}, protocolError("%s is not an ack", f.Type)
	}
	in := fields{obj: f.header}
	a := Ack{Seq: in.number("seq")}
	a.Refused = in.refused("refused", a.Seq)
	in.only(3)
	return a, in.err
}

func (f *fields) refused(name string, upTo uint64) []Refused {
	raw := f.raw(name)
	if f.err != nil || string(raw) == "[]" {
		return nil
	}
	var list []refusedJSON
	if raw.Kind() != '[' || wire.Unmarshal(raw, &list) != nil {
		f.fail("member %s is not a list of refusals", name)
		return nil
	}
	if len(list) > MaxRefused {
		f.fail("%d refusals, at most %d", len(list), MaxRefused)
		return nil
	}
	return f.checkRefused(list, upTo)
}

func (f *fields) checkRefused(list []refusedJSON, upTo uint64) []Refused {
	out := make([]Refused, 0, len(list))
	last := uint64(0)
	for _, r := range list {
		if r.Seq <= last || r.Seq > upTo || !isReasonWord(r.Reason) || wire.IsOwnWord(wire.Reason(r.Reason)) {
			f.fail("refusal of %d after %d in an ack of %d", r.Seq, last, upTo)
			return nil
		}
		last = r.Seq
		out = append(out, Refused{Seq: r.Seq, Reason: wire.Reason(r.Reason)})
	}
	return out
}
