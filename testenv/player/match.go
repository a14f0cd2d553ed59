package player

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fleetrelay/hub/wire"
)

// matcher compares the hub's frames with the captured ones. It remembers what the file's volatile values are here.
type matcher struct {
	seqs  map[uint64]uint64   // captured seq → seq here, monotone
	anons map[string]string   // captured invented name → name here
	times map[float64]float64 // captured timestamp of a chat → timestamp here
}

func newMatcher() *matcher {
	return &matcher{seqs: map[uint64]uint64{}, anons: map[string]string{}, times: map[float64]float64{}}
}

// volatileNumbers and volatileTexts are members whose value is whatever the run gave.
var (
	volatileNumbers = []string{
		"timestamp", "last_seen", "generated_at", "last_ts", "last_reaction_age", "lease_expires_at", "posted_at", "protocol_version",
	}
	volatileTexts = []string{"config_epoch", "hub_version"}
	seqMembers    = []string{"seq", "message_seq"}
)

// mayHave lists members that a hub frame of this type may have beyond the captured ones.
var mayHave = map[wire.FrameType][]string{wire.TypeError: {"error_code"}}

var (
	anonName     = regexp.MustCompile(`^anon-[0-9]+$`)
	notification = regexp.MustCompile(`^delivery-receipt:([0-9]+):([a-z_]+)$`)
)

// frame compares one frame; the error names the path of the first difference.
func (m *matcher) frame(want, got []byte) error {
	var w, g map[string]any
	if err := wire.Unmarshal(want, &w); err != nil {
		return fmt.Errorf("captured frame: %w", err)
	}
	if err := wire.Unmarshal(got, &g); err != nil {
		return fmt.Errorf("the hub's frame is not an object of strict JSON: %w", err)
	}
	m.forgive(w, g)
	if w["type"] == "chat" {
		if err := m.chatTime(w, g); err != nil {
			return err
		}
	}
	return m.object("", w, g)
}

// forgive removes what the hub may send beyond the captured members.
func (m *matcher) forgive(want, got map[string]any) {
	kind, _ := want["type"].(string)
	for _, name := range slices.Collect(maps.Keys(got)) {
		_, captured := want[name]
		if !captured && (wire.FrameType(kind) == wire.TypeWelcome || slices.Contains(mayHave[wire.FrameType(kind)], name)) {
			delete(got, name)
		}
	}
}

// chatTime holds that all copies of one chat have one timestamp.
func (m *matcher) chatTime(want, got map[string]any) error {
	w, _ := want["timestamp"].(float64)
	g, ok := got["timestamp"].(float64)
	if !ok {
		return fmt.Errorf("timestamp: %v is not a number", got["timestamp"])
	}
	if before, known := m.times[w]; known && before != g {
		return fmt.Errorf("timestamp: %v, and another copy of the same chat has %v", g, before)
	}
	m.times[w] = g
	return nil
}

func (m *matcher) object(path string, want, got map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		g, present := got[name]
		if !present {
			// Invented names are keys as well.
			if g, present = got[m.name(name)]; !present {
				return fmt.Errorf("%s.%s is missing", path, name)
			}
		}
		if err := m.member(path+"."+name, name, want[name], g); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, expected := want[name]; !expected && !m.isAnon(name) {
			return fmt.Errorf("%s.%s is one member too many", path, name)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d members, want %d", path, len(got), len(want))
	}
	return nil
}

func (m *matcher) member(path, name string, want, got any) error {
	switch {
	case slices.Contains(volatileNumbers, name):
		return sameKind[float64](path, want, got)
	case slices.Contains(volatileTexts, name):
		return sameKind[string](path, want, got)
	case slices.Contains(seqMembers, name):
		return m.seqMember(path, want, got)
	case want == anyText:
		return sameKind[string](path, want, got)
	}
	return m.value(path, want, got)
}

func (m *matcher) value(path string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return m.object(path, w, g)
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			return m.list(path, w, g)
		}
	case string:
		if g, ok := got.(string); ok {
			return m.text(path, w, g)
		}
	default:
		if want == got {
			return nil
		}
	}
	return fmt.Errorf("%s is %v, want %v", path, got, want)
}

func (m *matcher) list(path string, want, got []any) error {
	for i := range want {
		if err := m.value(fmt.Sprintf("%s[%d]", path, i), want[i], got[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *matcher) text(path, want, got string) error {
	if anonName.MatchString(want) && anonName.MatchString(got) {
		if known, ok := m.anons[want]; ok && known != got {
			return fmt.Errorf("%s is %q, and the same invented name was %q before", path, got, known)
		}
		m.anons[want] = got
		return nil
	}
	w, g := notification.FindStringSubmatch(want), notification.FindStringSubmatch(got)
	if w != nil && g != nil && w[2] == g[2] {
		return m.seq(path, number(w[1]), number(g[1]))
	}
	if want != got {
		return fmt.Errorf("%s is %q, want %q", path, got, want)
	}
	return nil
}

func (m *matcher) seqMember(path string, want, got any) error {
	w, ok := want.(float64)
	g, same := got.(float64)
	if !ok || !same || g != float64(uint64(g)) {
		return fmt.Errorf("%s is %v, want an integer like %v", path, got, want)
	}
	return m.seq(path, uint64(w), uint64(g))
}

// seq holds order and equality of sequences within the file.
func (m *matcher) seq(path string, want, got uint64) error {
	if known, ok := m.seqs[want]; ok {
		if known != got {
			return fmt.Errorf("%s is %d, and the same seq was %d before", path, got, known)
		}
		return nil
	}
	for w, g := range m.seqs {
		if (w < want) != (g < got) || g == got {
			return fmt.Errorf("%s is %d, which does not stand to %d as %d stands to %d", path, got, g, want, w)
		}
	}
	m.seqs[want] = got
	return nil
}

func (m *matcher) name(captured string) string {
	if here, ok := m.anons[captured]; ok {
		return here
	}
	return captured
}

func (m *matcher) isAnon(here string) bool {
	for _, name := range m.anons {
		if name == here {
			return true
		}
	}
	return false
}

func sameKind[T any](path string, want, got any) error {
	_, w := want.(T)
	_, g := got.(T)
	if w != g {
		return fmt.Errorf("%s is %v, want a value like %v", path, got, want)
	}
	if text, ok := got.(string); ok && strings.TrimSpace(text) == "" {
		return fmt.Errorf("%s is blank", path)
	}
	return nil
}

func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic("not a number in spite of its pattern: " + text)
	}
	return n
}

// outgoing is the captured frame of a client as it must be sent here: seqs are the hub's own, and the captured token is
// the one this hub gave out.
func (m *matcher) outgoing(captured []byte, token string) ([]byte, error) {
	var frame map[string]any
	if err := wire.Unmarshal(captured, &frame); err != nil {
		return nil, err
	}
	for _, name := range []string{"seq", "since_seq"} {
		if n, ok := frame[name].(float64); ok {
			if here, known := m.seqs[uint64(n)]; known {
				frame[name] = here
			}
		}
	}
	if frame["token"] == capturedToken {
		frame["token"] = token
	}
	return wire.Marshal(frame)
}

// capturedToken is the connect token of the captured hub.
const capturedToken = "t0ken-example"
