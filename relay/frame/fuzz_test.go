package frame

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"fleetrelay/hub/wire"
)

// originCodec is a parser under test beside the one appender: fuzzing must tell a good one from a bad one.
type originCodec func([]byte) (Origin, error)

// check holds for every input: a refusal has a reason, what is accepted has exactly one encoding and is within bounds.
func (parse originCodec) check(in []byte) error {
	o, err := parse(in)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != wire.ReasonMalformedOrigin && e.Reason != wire.ReasonTooManyHops {
			return fmt.Errorf("refused without a word of its own: %w", err)
		}
		return nil
	}
	if out := o.Append(nil); !bytes.Equal(out, in) {
		return fmt.Errorf("accepted %q, which is written %q", in, out)
	}
	return o.Check()
}

// frameCodec reads one frame of a stream.
type frameCodec func([]byte) (any, error)

// check holds for every input: what is accepted is accepted again as it is written, and means the same.
func (parse frameCodec) check(in []byte) error {
	v, err := parse(in)
	if err != nil {
		return nil
	}
	out := appendFrame(v)
	again, err := parse(out)
	if err != nil {
		return fmt.Errorf("accepted %q, but not as written, %q: %w", in, out, err)
	}
	if !reflect.DeepEqual(v, again) {
		return fmt.Errorf("%q reads as %v, written again as %v", in, v, again)
	}
	return payloadKept(in, v)
}

// payloadKept says that no byte of a payload is lost between the records.
func payloadKept(in []byte, v any) error {
	rs, ok := v.(Records)
	if !ok {
		return nil
	}
	var all []byte
	for _, r := range rs.Items {
		all = append(append(all, r.Origin...), r.Body...)
	}
	if !bytes.Contains(in, all) || int(in[4])<<24|int(in[5])<<16|int(in[6])<<8|int(in[7]) != len(all) {
		return fmt.Errorf("%d bytes of records out of %q", len(all), in)
	}
	return nil
}

const fuzzCeiling = 1 << 16

func parseStream(in []byte) (any, error) {
	f, err := NewReader(bytes.NewReader(in), fuzzCeiling).Next()
	if err != nil {
		return nil, err
	}
	return parseFrame(f)
}

func seeds(t testing.TB, kind string) (all [][]byte) {
	for _, v := range vectors(t) {
		if v.fields["kind"] == kind {
			all = append(all, v.bytes(t))
		}
	}
	return all
}

func FuzzOrigin(f *testing.F) {
	for _, b := range seeds(f, "origin") {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := originCodec(new(OriginParser).Parse).check(in); err != nil {
			t.Error(err)
		}
	})
}

func FuzzFrames(f *testing.F) {
	for _, b := range seeds(f, "frame") {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := frameCodec(parseStream).check(in); err != nil {
			t.Error(err)
		}
	})
}

// hunt runs check over the seeds and small changes of them until it complains; "" if it never does.
func hunt(t *testing.T, kind string, check func([]byte) error) string {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	all := seeds(t, kind)
	for _, in := range all {
		if err := check(in); err != nil {
			return err.Error()
		}
	}
	for range 50_000 {
		in := bytes.Clone(all[rnd.IntN(len(all))])
		if len(in) == 0 {
			continue
		}
		switch at := rnd.IntN(len(in)); rnd.IntN(3) {
		case 0:
			in[at] ^= 1 << rnd.IntN(8)
		case 1:
			in = append(in[:at], in[at+1:]...)
		case 2:
			in = append(in, in[at:]...)
		}
		if err := check(in); err != nil {
			return err.Error()
		}
	}
	return ""
}

func TestFuzzPropertiesHold(t *testing.T) {
	var p OriginParser // one for all inputs: nothing may be carried over from a bad one
	if found := hunt(t, "origin", originCodec(p.Parse).check); found != "" {
		t.Error(found)
	}
	if found := hunt(t, "frame", frameCodec(parseStream).check); found != "" {
		t.Error(found)
	}
}

// Each planted bug is one that a parser could well have; the properties above must find it.
func TestFuzzPropertiesFindPlantedBugs(t *testing.T) {
	lenient := func(in []byte) (o Origin, err error) { // no comparison with the canonical form
		s := scanner{rest: in, ok: true, names: new([nameSlots]string)}
		if s.block(&o); !s.ok {
			return o, badOrigin("planted")
		}
		return o, o.Check()
	}
	unbounded := func(in []byte) (o Origin, err error) { // no bounds
		if o, _ = lenient(in); !bytes.Equal(o.Append(nil), in) {
			return o, badOrigin("planted")
		}
		return o, nil
	}
	for name, parse := range map[string]originCodec{"lenient": lenient, "unbounded": unbounded} {
		if hunt(t, "origin", parse.check) == "" {
			t.Errorf("origin: planted %s parser was not found", name)
		}
	}
	for name, parse := range map[string]frameCodec{
		"payload beyond the sizes": func(in []byte) (any, error) {
			return planted(in, func(f *Frame, v any, err error) (any, error) {
				if outcome(err) == "link_protocol" && f.Type == wire.LinkRecords && len(f.Payload) > 1 {
					f.Payload = f.Payload[:len(f.Payload)-1]
					return parseFrame(*f)
				}
				return v, err
			})
		},
		"unchecked cursor": func(in []byte) (any, error) {
			return planted(in, func(_ *Frame, v any, err error) (any, error) {
				if h, ok := v.(Hello); ok && err == nil {
					h.Out.Acked += h.Out.Head // now beyond the head
					return h, nil
				}
				return v, err
			})
		},
		"clock that runs": func(in []byte) (any, error) {
			return planted(in, func(_ *Frame, v any, err error) (any, error) {
				if b, ok := v.(Beat); ok && err == nil {
					b.HeldUS++
					return b, nil
				}
				return v, err
			})
		},
		"offer taken for another": func(in []byte) (any, error) {
			return planted(in, func(_ *Frame, v any, err error) (any, error) {
				if h, ok := v.(Hello); ok && err == nil {
					h.Offer.MaxHops, h.Offer.MaxBodyBytes = h.Offer.MaxBodyBytes, h.Offer.MaxHops
					return h, nil
				}
				return v, err
			})
		},
	} {
		if hunt(t, "frame", parse.check) == "" {
			t.Errorf("frame: planted %s was not found", name)
		}
	}
}

func planted(in []byte, bug func(*Frame, any, error) (any, error)) (any, error) {
	f, err := NewReader(bytes.NewReader(in), fuzzCeiling).Next()
	if err != nil {
		return nil, err
	}
	v, err := parseFrame(f)
	return bug(&f, v, err)
}
