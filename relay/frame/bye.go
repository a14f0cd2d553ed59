package frame

import "fleetrelay/hub/wire"

const maxReason = 64 // bytes of a reason word from a peer

// Bye is the last frame of a link: why it ends.
type Bye struct{ Reason wire.Reason }

// Append appends the whole frame.
func (b *Bye) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(appendPrefix(dst), `{"type":"bye","reason":`...)
	dst = wire.AppendString(dst, string(b.Reason))
	return endHeader(append(dst, '}'), start, 0)
}

// ParseBye reads a bye. The reason has the form of a reason word, but it need not be one that this build knows.
func ParseBye(f Frame) (Bye, error) {
	if f.Type != wire.LinkBye {
		return Bye{}, protocolError("%s is not a bye", f.Type)
	}
	in := fields{obj: f.header}
	b := Bye{Reason: in.reason("reason")}
	in.only(2)
	return b, in.err
}

// reason reads a reason word: lower-case letters, digits and underscores, bounded, because it ends up in logs and
// counters.
func (f *fields) reason(name string) wire.Reason {
	s := f.text(name)
	if !isReasonWord(s) {
		f.fail("member %s is not a reason word", name)
		return ""
	}
	return wire.Reason(s)
}

func isReasonWord(s string) bool {
	if s == "" || len(s) > maxReason {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
