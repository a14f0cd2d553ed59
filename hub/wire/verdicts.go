package wire

import "bytes"

// The literal parts of a list of verdicts around their values.
const (
	litVerdicts     = `{"verdicts":[`
	litVerdictsEnd  = `]}`
	litLaneSeq      = `{"lane_seq":`
	litState        = `,"state":"`
	litHubSeq       = `","hub_seq":`
	litHubMsgID     = `,"hub_msg_id":`
	litRecipients   = `,"recipients":`
	litStale        = `,"stale":`
	litWake         = `,"wake":`
	litReason       = `,"reason":`
	litDeadLettered = `,"dead_lettered":`
)

// AppendVerdicts appends the body of a lane record of the kind receipt: 1 to
// [MaxVerdicts] verdicts, ascending by their chats' numbers and at most one of each
// chat, as canonical JSON.
func AppendVerdicts(dst []byte, list []Verdict) []byte {
	dst = append(dst, litVerdicts...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].Append(dst)
	}
	return append(dst, litVerdictsEnd...)
}

// ParseVerdicts reads the body of a receipt. Only the canonical encoding is accepted:
// what was read is appended again and compared, so the reading itself may be lenient.
// Errors are *JSONError with malformed_receipt. The result does not alias b.
func ParseVerdicts(b []byte) ([]Verdict, error) {
	if len(b) > MaxVerdictsBytes {
		return nil, badVerdict()
	}
	s := verdictScanner{rest: b, ok: true}
	s.literal(litVerdicts)
	list := make([]Verdict, 0, min(MaxVerdicts, len(b)/128+1))
	for more := true; more && s.ok; more = s.next(',') {
		list = append(list, Verdict{})
		s.verdict(&list[len(list)-1])
		if len(list) > MaxVerdicts {
			return nil, badVerdict()
		}
	}
	s.literal(litVerdictsEnd)
	if !s.ok || len(s.rest) > 0 || !bytes.Equal(AppendVerdicts(make([]byte, 0, len(b)), list), b) {
		return nil, badVerdict()
	}
	return list, checkVerdicts(list)
}

func checkVerdicts(list []Verdict) error {
	last := uint64(0)
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
		if list[i].LaneSeq <= last {
			return badVerdict()
		}
		last = list[i].LaneSeq
	}
	return nil
}

// verdictScanner walks over verdicts whose members stand where the canonical form has
// them.
type verdictScanner struct {
	rest []byte
	ok   bool
	last string // text read, likely to come again
}

func (s *verdictScanner) verdict(v *Verdict) {
	s.literal(litLaneSeq)
	v.LaneSeq = s.number()
	s.literal(litState)
	v.State = s.state()
	s.literal(litHubSeq)
	v.HubSeq = s.number()
	s.literal(litHubMsgID)
	v.HubMsgID = s.number()
	s.literal(litRecipients)
	v.Recipients = s.list()
	s.literal(litStale)
	v.Stale = s.list()
	s.literal(litWake)
	v.Wake = s.wake()
	s.literal(litReason)
	v.Reason = Reason(s.text())
	s.literal(litDeadLettered)
	if v.DeadLettered = s.next('t'); v.DeadLettered {
		s.literal(`rue`)
	} else {
		s.literal(`false`)
	}
	s.literal(`}`)
}

func (s *verdictScanner) fail() { s.ok, s.rest = false, nil }

func (s *verdictScanner) literal(lit string) {
	if len(s.rest) < len(lit) || string(s.rest[:len(lit)]) != lit {
		s.fail()
		return
	}
	s.rest = s.rest[len(lit):]
}

// next takes c if it is what comes next.
func (s *verdictScanner) next(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// number reads up to 16 digits, enough for every number below 2^53.
func (s *verdictScanner) number() (n uint64) {
	i := 0
	for i < len(s.rest) && i < 16 && isDigit(s.rest[i]) {
		n = n*10 + uint64(s.rest[i]-'0')
		i++
	}
	s.rest = s.rest[i:]
	return n
}

func (s *verdictScanner) state() VerdictState {
	i := max(bytes.IndexByte(s.rest, '"'), 0)
	state := parseVerdictState(s.rest[:i])
	s.rest = s.rest[i:]
	return state
}

// list is a list of at most one string.
func (s *verdictScanner) list() (out []string) {
	s.literal(`[`)
	if s.next(']') {
		return nil
	}
	out = []string{s.text()}
	s.literal(`]`)
	return out
}

// wake is an object of at most one string.
func (s *verdictScanner) wake() []NameWake {
	s.literal(`{`)
	if s.next('}') {
		return nil
	}
	name := s.text()
	s.literal(`:`)
	out := []NameWake{{Name: name, Wake: s.text()}}
	s.literal(`}`)
	return out
}

// text reads one string.
func (s *verdictScanner) text() string {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		s.fail()
		return ""
	}
	end, plain := 1, true
	for end < len(s.rest) && s.rest[end] != '"' {
		if s.rest[end] == '\\' {
			plain = false
			end++
		}
		end++
	}
	if end >= len(s.rest) {
		s.fail()
		return ""
	}
	raw := s.rest[:end+1]
	s.rest = s.rest[end+1:]
	if !plain {
		text, ok := Raw(raw).Text()
		s.ok = s.ok && ok
		return text
	}
	switch inner := raw[1:end]; {
	case len(inner) == 0:
		return ""
	case s.last != string(inner):
		s.last = string(inner)
	}
	return s.last
}
