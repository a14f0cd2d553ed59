package node

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// operations are those of the admin socket that take a body, with the members they know.
var operations = []struct {
	path    string
	members []string
}{
	{pathInvite, []string{"endpoints", "expires_s", "by"}},
	{pathJoin, []string{"token"}},
	{pathApprove, []string{"key", "hub", "endpoints", "may_reach", "by", "replace", "dry_run"}},
	{pathReject, []string{"key", "by", "dry_run"}},
	{pathRevoke, []string{"hub", "by", "why"}},
	{pathReconcile, []string{"hub", "by", "dry_run"}},
	{pathTokens, []string{"seat"}},
	{pathSend, []string{"as", "to", "text", "client_msg_id", "receipt"}},
	{pathPurge, []string{"seq", "why"}},
}

// adminFault holds that a request is answered, or refused with a reason of the list and a next step; that one which is
// answered said nothing the operation passed over; and that no request brings a fault of the node's own to light.
func adminFault(which uint8, body []byte, h http.Handler) string {
	op := operations[int(which)%len(operations)]
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, op.path, bytes.NewReader(body)))
	if _, err := wire.ParseObject(w.Body.Bytes(), wire.Limits{MaxBytes: wire.CodecMaxBytes}); err != nil {
		return fmt.Sprintf("%s %.200q is answered %.200q: %v", op.path, body, w.Body, err)
	}
	if w.Code == http.StatusOK {
		o, err := wire.ParseObject(body, wire.Limits{MaxBytes: maxAdminBody})
		if err != nil {
			return fmt.Sprintf("%s takes %.200q: %v", op.path, body, err)
		}
		for _, m := range o.Members {
			if !slices.Contains(op.members, m.Name) {
				return fmt.Sprintf("%s passes over the member %q", op.path, m.Name)
			}
		}
		return ""
	}
	var f failure
	if err := wire.Unmarshal(w.Body.Bytes(), &f); err != nil || w.Code != http.StatusUnprocessableEntity || f.Text == "" || f.Next == "" {
		return fmt.Sprintf("%s %.200q: status %d, %.200q", op.path, body, w.Code, w.Body)
	}
	if _, known := wire.Explain(wire.Reason(f.Reason)); !known {
		return fmt.Sprintf("%s %.200q: the reason %q is not in the list", op.path, body, f.Reason)
	}
	switch wire.Reason(f.Reason) {
	case wire.ReasonInternalError, wire.ReasonQuarantined, wire.ReasonJournalFailed, wire.ReasonJournalCorrupt:
		return fmt.Sprintf("%s %.200q: %s", op.path, body, w.Body)
	}
	return ""
}

func adminSeeds() [][]byte {
	pin := "sha256:" + strings.Repeat("ab", 32)
	token := federation.Invitation{
		Hub: "near.example", Pin: federation.Pin{1}, Endpoints: []string{"near.example:8877"}, Secret: [federation.InviteBytes]byte{1}, ExpiresUS: 1 << 60,
	}.Token()
	var seeds [][]byte
	for _, s := range []string{
		`{"key":"` + pin + `","hub":"far.example","endpoints":["far.example:8877"],"may_reach":["p/*"],"by":"Ann"}`,
		`{"key":"` + pin + `","endpoints":["10.0.0.1:8877"],"may_reach":["p/*","q"],"by":"Ann","replace":true}`,
		`{"key":"` + pin + `","hub":"far.example","may_reach":["\u0000"],"by":"\u0000","dry_run":true}`,
		`{"key":"0000-0000-0000-0000","may_reach":["p/*"],"by":"Ann"}`, `{"key":"","hub":"hub.example","endpoints":["x:0"],"may_reach":[],"by":" "}`,
		`{"key":"` + pin + `","by":"Ann"}`, `{"key":"` + pin + `","by":"Ann","dry_run":true}`, `{"key":"sha256:","by":""}`,
		`{"hub":"far.example","by":"Ann","why":"asked"}`, `{"hub":"","by":"","why":"\u0000"}`,
		`{"endpoints":["h.example:1"],"expires_s":60,"by":"Ann"}`, `{"endpoints":[],"expires_s":-1}`, `{"expires_s":9223372036854775807}`,
		`{"endpoints":["h\u0000:1"],"by":"\u0000"}`, `{"token":"` + token + `"}`, `{"token":"fleet1.x"}`, `{"token":""}`,
		`{"seat":"p/a"}`, `{"seat":"a\u0000b"}`, `{"seat":""}`, `{"seat":"p/a","colour":1}`, `{"seat":7}`,
		`{"as":"p/a","to":"p/b","text":"hello","client_msg_id":"m-1","receipt":true}`, `{"as":"p/a","to":"p/b@far.example","text":""}`,
		`{"as":"p/a","to":"a\u0000b,\u0001,p/*","text":"\u0000"}`, `{"as":"p/a","to":"all","text":"x","client_msg_id":"\u0000"}`,
		`{"seq":1,"why":"asked"}`, `{"seq":0,"why":""}`, `{"seq":18446744073709551615,"why":"x"}`, `{"seq":2,"why":"\u0000"}`, `{"seq":-1}`,
		`{}`, `null`, `[]`, ``, `{`, `{"seat":"a","seat":"b"}`, "{\"seat\":\"\xff\"}", `{"text":"\ud800"}`,
	} {
		seeds = append(seeds, []byte(s))
	}
	return seeds
}

// adminOf is the handler of an opened node that serves nobody else.
func adminOf(t testing.TB) http.Handler {
	dir := t.TempDir()
	if _, err := Init(InitOptions{Dir: dir, Hub: "hub.example", Addresses: Addresses{Agents: "127.0.0.1:0", Links: "127.0.0.1:0"}}); err != nil {
		t.Fatal(err)
	}
	n, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n.adminHandler()
}

func FuzzAdmin(f *testing.F) {
	for i := range operations {
		for _, body := range adminSeeds() {
			f.Add(uint8(i), body)
		}
	}
	h := adminOf(f)
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		if fault := adminFault(which, body, h); fault != "" {
			t.Fatal(fault)
		}
	})
}

// linesReader is eachLine, or one with a planted bug.
type linesReader func(text []byte, line func([]byte) error) error

func readLines(text []byte, line func([]byte) error) error {
	return eachLine(bytes.NewReader(text), line)
}

// linesFault holds that the lines of an answer are the whole of it, but for a last one that was cut short.
func linesFault(text []byte, read linesReader) string {
	var got []byte
	count := 0
	err := read(text, func(line []byte) error {
		got, count = append(got, line...), count+1
		return nil
	})
	want := text[:bytes.LastIndexByte(text, '\n')+1]
	if err != nil || !bytes.Equal(got, want) || count != bytes.Count(text, []byte("\n")) {
		return fmt.Sprintf("%.200q is %d lines %.200q, %v", text, count, got, err)
	}
	return ""
}

func linesSeeds() [][]byte {
	return [][]byte{nil, []byte("\n"), []byte("{}\n{}\n"), []byte("{}\n{\"a\":"), append(bytes.Repeat([]byte("x"), 70<<10), "\ny\n"...)}
}

func FuzzLines(f *testing.F) {
	for _, text := range linesSeeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if fault := linesFault(text, readLines); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The bodies above find planted bugs among their own seeds, and nothing in what ships.
func TestAdminFuzzBodiesFindPlantedBugs(t *testing.T) {
	overRequests := func(h http.Handler) (faults string) {
		for i := range operations {
			for _, body := range adminSeeds() {
				faults += adminFault(uint8(i), body, h)
			}
		}
		return faults
	}
	overLines := func(read linesReader) (faults string) {
		for _, text := range linesSeeds() {
			faults += linesFault(text, read)
		}
		return faults
	}
	ships := adminOf(t)
	if faults := overRequests(ships) + overLines(readLines); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	answers := func(change func(w http.ResponseWriter, body []byte, code int)) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner := httptest.NewRecorder()
			ships.ServeHTTP(inner, r)
			change(w, inner.Body.Bytes(), inner.Code)
		})
	}
	for name, h := range map[string]http.Handler{
		"unknown members pass": answers(func(w http.ResponseWriter, _ []byte, _ int) { reply(w, http.StatusOK, Empty{}) }),
		"a fault of its own": answers(func(w http.ResponseWriter, body []byte, code int) {
			w.WriteHeader(code)
			w.Write(bytes.ReplaceAll(body, []byte(`"malformed_json"`), []byte(`"internal_error"`)))
		}),
		"a word of its own": answers(func(w http.ResponseWriter, body []byte, code int) {
			w.WriteHeader(code)
			w.Write(bytes.ReplaceAll(body, []byte(`"malformed_json"`), []byte(`"bad_request"`)))
		}),
		"plain text": answers(func(w http.ResponseWriter, _ []byte, code int) { http.Error(w, "no", code) }),
	} {
		if overRequests(h) == "" {
			t.Errorf("%s: not found", name)
		}
	}
	torn := func(text []byte, line func([]byte) error) error {
		return eachLine(bytes.NewReader(append(bytes.Clone(text), '\n')), line)
	}
	short := func(text []byte, line func([]byte) error) error {
		return eachLine(bytes.NewReader(text), func(b []byte) error {
			if len(b) > 64<<10 {
				return errors.New("too long")
			}
			return line(b)
		})
	}
	if overLines(torn) == "" || overLines(short) == "" {
		t.Error("a torn line taken for a whole one, or a bound on lines: not found")
	}
}
