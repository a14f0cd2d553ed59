package load

import "bytes"

// idOf finds sender and place in a message's client_msg_id, which is "SENDER.PLACE.NUMBER".
func idOf(frame []byte) (from, place int, ok bool) {
	i := bytes.Index(frame, []byte(`"client_msg_id":"`))
	if i < 0 {
		return 0, 0, false
	}
	rest := frame[i+len(`"client_msg_id":"`):]
	a, rest, ok := digits(rest)
	if !ok || len(rest) == 0 || rest[0] != '.' {
		return 0, 0, false
	}
	b, _, ok := digits(rest[1:])
	return int(a), int(b), ok
}

func numberAfter(frame, mark []byte) (uint64, bool) {
	i := bytes.Index(frame, mark)
	if i < 0 {
		return 0, false
	}
	n, _, ok := digits(frame[i+len(mark):])
	return n, ok
}

func digits(text []byte) (n uint64, rest []byte, ok bool) {
	for len(text) > 0 && text[0] >= '0' && text[0] <= '9' {
		n = n*10 + uint64(text[0]-'0')
		text, ok = text[1:], true
	}
	return n, text, ok
}
