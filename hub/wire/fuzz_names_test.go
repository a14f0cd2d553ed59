package wire

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hubIDForm is the rule of ParseHubID as the documents write it.
var hubIDForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// addressFault holds that an address is refused with its reason or means one seat:
// it reads the same as it is written, its hub is a hub id, and a seat elsewhere can
// be no pattern and no list.
func addressFault(s string, parse func(string) (Address, error)) string {
	a, err := parse(s)
	if err != nil {
		var frame *FrameError
		if !errors.As(err, &frame) || frame.Reason != ReasonInvalidAddress {
			return fmt.Sprintf("%q is refused with %v", s, err)
		}
		return ""
	}
	if a.String() != trim(s) || a.Name == "" || len(a.Name) > MaxNameBytes {
		return fmt.Sprintf("%q read as %+v", s, a)
	}
	if again, err := parse(a.String()); err != nil || again != a {
		return fmt.Sprintf("%q read as %+v, then as %+v, %v", s, a, again, err)
	}
	remote := strings.Contains(s, "@")
	if remote != (a.Hub != "") || remote && !hubIDForm.MatchString(string(a.Hub)) {
		return fmt.Sprintf("%q read as a seat on hub %q", s, a.Hub)
	}
	if id, err := ParseHubID(string(a.Hub)); remote && (err != nil || id != a.Hub || !SimilarHubIDs(id, a.Hub)) {
		return fmt.Sprintf("%q is on a hub that is none", s)
	}
	if remote && (strings.ContainsAny(a.Name, ",*?[") || a.Name == TargetAll || strings.ContainsFunc(a.Name, unicode.IsControl)) {
		return fmt.Sprintf("%q may be more than one seat", s)
	}
	return ""
}

func addressSeeds() []string {
	return []string{
		"", " ", "all", "p/a", " p/a ", "p/a@hub-1", "p@a@hub", "p/*@hub", "all@hub", "a,b@hub", "@hub", "a@", "a@-hub", "a @hub", "a\x00@h",
		"a@" + strings.Repeat("h", 65), strings.Repeat("n", 257),
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range addressSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if fault := addressFault(s, ParseAddress); fault != "" {
			t.Fatal(fault)
		}
	})
}

// nameFault holds that a name an agent may bear can be seen, is nobody else's, and
// that its project and identity are parts of it.
func nameFault(s string, valid func(string) *FrameError) string {
	if bad := valid(s); bad != nil {
		if bad.Reason != ReasonReservedIdentity && bad.Reason != ReasonInvalidName {
			return fmt.Sprintf("%q is refused with %s", s, bad.Reason)
		}
		return ""
	}
	if !utf8.ValidString(s) || strings.TrimSpace(s) != s || s == "" || len(s) > MaxNameBytes || strings.ContainsFunc(s, unseen) {
		return fmt.Sprintf("%q may be borne", s)
	}
	for _, own := range []string{"synapsehub", "synapse", "system"} {
		if strings.ToLower(s) == own {
			return fmt.Sprintf("%q may be borne", s)
		}
	}
	if id, _ := LogicalIdentity(s); !strings.HasPrefix(s, Project(s)) || !strings.HasPrefix(s, id) || id == "" {
		return fmt.Sprintf("%q is of project %q and identity %q", s, Project(s), id)
	}
	if a, err := ParseAddress(s); err != nil || a != (Address{Name: s}) {
		return fmt.Sprintf("%q may be borne and not be addressed", s)
	}
	return ""
}

func unseen(r rune) bool { return r == '@' || unicode.In(r, unicode.Cc, unicode.Cf) }

func nameSeeds() []string {
	return []string{
		"p/a", "a", "p/a-rx", "-rx", "p/a-pane-rx", "", " a", "a@h", "SYSTEM", "SynapseHub", "a\u200bb", "a\x01", "e\u0301", "\u00e9", "a\u202e", "\xff",
		strings.Repeat("n", 257), "/", "ſystem", "a\u00a0",
	}
}

func FuzzName(f *testing.F) {
	for _, s := range nameSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if fault := nameFault(s, ValidLocalName); fault != "" {
			t.Fatal(fault)
		}
	})
}

// codecSample has a member of every kind the product's own files and answers use.
type codecSample struct {
	Text  string            `json:"text"`
	Count uint64            `json:"count"`
	Time  int64             `json:"time"`
	Flag  *bool             `json:"flag"`
	List  []string          `json:"list"`
	Map   map[string]string `json:"map"`
	Raw   Raw               `json:"raw"`
	Inner *codecSample      `json:"inner"`
}

var codecMembers = []string{"text", "count", "time", "flag", "list", "map", "raw", "inner"}

// codecFault holds that what the codec takes is a strict text without a member of
// another name, and means the same when it is written and read again.
func codecFault(b []byte, unmarshal func([]byte, any) error) string {
	var v codecSample
	if err := unmarshal(b, &v); err != nil {
		var own *JSONError
		if !errors.As(err, &own) {
			return fmt.Sprintf("%.200q refused with %v", b, err)
		}
		return ""
	}
	o, err := ParseObject(b, Limits{MaxBytes: CodecMaxBytes})
	if err != nil && !errors.Is(err, ErrNotObject) {
		return fmt.Sprintf("%.200q is not strict: %v", b, err)
	}
	for _, m := range o.Members {
		if !slices.Contains(codecMembers, m.Name) {
			return fmt.Sprintf("the member %q is passed over", m.Name)
		}
	}
	out, err := Marshal(&v)
	if err != nil {
		return "what was read cannot be written: " + err.Error()
	}
	var again codecSample
	if err := unmarshal(out, &again); err != nil {
		return fmt.Sprintf("%.200q is written %.200q: %v", b, out, err)
	}
	twice, err := Marshal(&again)
	if err != nil || !bytes.Equal(out, twice) {
		return fmt.Sprintf("%.200q is written %.200q, then %.200q", b, out, twice)
	}
	return ""
}

func codecSeeds() [][]byte {
	var seeds [][]byte
	for _, s := range []string{
		`{}`, `null`, `[]`, `{"text":"a","count":18446744073709551615,"time":-1,"flag":true,"list":["",null],"map":{"b":"1","a":"2"},"raw":{"x":[1.50]}}`,
		`{"inner":{"inner":{"raw":null}}}`, `{"text":"a","text":"b"}`, `{"Text":"a"}`, `{"other":1}`, `{"text":"\ud800"}`, `{"count":1.0}`, `{"raw":1e999}`,
		"{\"text\":\"\xff\"}", `{"text":1}`, ` {"flag" : false} `,
	} {
		seeds = append(seeds, []byte(s))
	}
	return seeds
}

func FuzzCodec(f *testing.F) {
	for _, b := range codecSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if fault := codecFault(b, Unmarshal); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The bodies above find a planted bug among their own seeds, and nothing in what ships.
func TestNameFuzzBodiesFindPlantedBugs(t *testing.T) {
	firstAt := func(s string) (Address, error) { // split at the first '@'
		name, hub, ok := strings.Cut(trim(s), "@")
		if a, err := ParseAddress(s); err != nil || !ok {
			return a, err
		}
		return Address{Name: name, Hub: HubID(hub)}, nil
	}
	anySeat := func(s string) (Address, error) {
		a, err := ParseAddress(s)
		if name, hub, ok := cutLast(trim(s), '@'); err != nil && ok && name != "" && hubIDForm.MatchString(hub) {
			return Address{Name: name, Hub: HubID(hub)}, nil
		}
		return a, err
	}
	visible := func(s string) *FrameError { return ValidLocalName(strings.ReplaceAll(s, "\u200b", "")) }
	anyCase := func(s string) *FrameError {
		if s == strings.ToUpper(s) && s != "" {
			return nil
		}
		return ValidLocalName(s)
	}
	for _, tc := range []struct {
		name  string
		sound func() []string
		wrong []func() []string
	}{
		{
			"address", over(addressSeeds(), addressFault, ParseAddress),
			[]func() []string{over(addressSeeds(), addressFault, firstAt), over(addressSeeds(), addressFault, anySeat)},
		},
		{
			"name", over(nameSeeds(), nameFault, ValidLocalName),
			[]func() []string{over(nameSeeds(), nameFault, visible), over(nameSeeds(), nameFault, anyCase)},
		},
		{
			"codec", over(codecSeeds(), codecFault, Unmarshal),
			[]func() []string{over(codecSeeds(), codecFault, UnmarshalLax)},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if faults := tc.sound(); len(faults) > 0 {
				t.Errorf("what ships: %v", faults)
			}
			for i, wrong := range tc.wrong {
				if len(wrong()) == 0 {
					t.Errorf("planted bug %d was not found", i)
				}
			}
		})
	}
}
