package house

import (
	"slices"
	"strings"
)

// Edge is a forbidden import between two folders of the module, each with everything below it.
type Edge struct {
	From, To string
	Why      string
}

// Allowed lists, for each folder, what it and the folders below may import of this module. The longest
// matching folder counts; a folder imports itself and what is below only where it says so. What is not here
// is forbidden; Forbidden gives the reasons of the edges somebody is most likely to want.
var Allowed = map[string][]string{
	"hub/wire":        {},
	"hub/journal":     {"hub/wire"},
	"hub/socket":      {"hub/wire"},
	"hub/client":      {"hub/wire"},
	"hub/evidence":    {"hub/wire"},
	"hub/delivery":    {"hub/wire"},
	"hub/claim":       {"hub/wire"},
	"hub/network":     {"hub/wire"},
	"hub/participant": {"hub/wire", "hub/client"},
	"hub":             {"hub", "federation", "certs"},
	"certs":           {"certs"},
	"federation":      {"hub/wire"},
	"relay/frame":     {"hub/wire", "federation"},
	"relay/transport": {"relay/frame", "relay/transport", "federation", "certs", "hub/wire"},
	"relay":           {"hub", "hub/wire", "federation", "certs", "relay"},
	"testenv":         {"hub", "relay", "federation", "certs", "testenv", "cmd/fleet/node"},
	"cmd/fleet":       {"hub", "relay", "federation", "certs", "testenv", "cmd/fleet"},
	"cmd/fleet/node":  {"hub", "relay", "federation", "certs", "cmd/fleet/node"},
}

// Forbidden are edges with the reason they must not exist.
var Forbidden = []Edge{
	{"hub", "relay", "the hub declares Forwarder and is whole without a relay; the relay depends on the hub, so the other way round is a cycle"},
	{"hub", "testenv", "the product must not depend on its tests"},
	{"relay", "testenv", "the product must not depend on its tests"},
	{"certs", "testenv", "the product must not depend on its tests"},
	{"federation", "testenv", "the product must not depend on its tests"},
	{"cmd/fleet/node", "testenv", "the daemon must not carry its test harness; only commands start it"},
	{"certs", "hub", "keys and certificates know nothing of messages, so that they can be judged alone"},
	{"certs", "federation", "certs verifies what it is told to trust; who is trusted is federation's decision"},
	{"federation", "certs", "policy is pure; a pin there is a plain array"},
	{"federation", "relay", "policy is asked by the relay and never asks back"},
	{"federation", "hub/journal", "policy is pure; the core writes what was decided"},
	{"hub/journal", "hub/socket", "storage does not know who is connected"},
	{"hub/journal", "federation", "storage keeps records and judges no peer"},
	{"hub/socket", "hub/journal", "a socket carries bytes; only the core writes"},
	{"hub/client", "hub/journal", "a client lives in other people's programs and knows the wire only"},
	{"hub/client", "certs", "a client lives in other people's programs and is handed its TLS settings"},
	{"hub/wire", "hub/journal", "the wire is the leaf everything may use"},
	{"relay/frame", "certs", "frames are bytes; who sent them is the transport's business"},
	{"relay/frame", "relay/transport", "frames are bytes and know no carrier"},
	{"relay/transport", "hub/journal", "a transport carries bytes; only the core writes"},
	{"relay", "hub/journal", "the relay hands commands to the core, which is the only writer"},
	{"testenv", "cmd/fleet", "a harness starts the real binary; a command is not a library"},
}

// Ban forbids importing a package (Path, or anything below it) outside some folders.
type Ban struct {
	Path   string
	Only   []string // folders that may
	Except []string // exact import paths below Path that are free for testenv
	Tests  bool     // also holds in _test.go files
	Why    string
}

// Bans are the imports of other people's packages that have one home.
var Bans = []Ban{
	{Path: "encoding/json", Only: []string{"hub/wire"}, Tests: true, Why: "it takes duplicate names and lone surrogates; hub/wire is the one strict codec"},
	{Path: "github.com/go-json-experiment/json", Only: []string{"hub/wire"}, Tests: true, Why: "hub/wire checks what the library lets through"},
	{
		Path: "github.com/cockroachdb/pebble", Only: []string{"hub/journal"}, Except: []string{"github.com/cockroachdb/pebble/v2/vfs", "github.com/cockroachdb/pebble/v2/vfs/errorfs"},
		Why: "one owner of the store; testenv may import its file systems",
	},
	{Path: "C", Tests: true, Why: "no cgo: one static binary, built anywhere"},
	{Path: "log", Tests: false, Why: "no global logger; a *slog.Logger is handed in"},
}

// Pure are the packages whose decisions are functions of their arguments.
var Pure = []string{"hub/delivery", "hub/claim", "hub/network", "federation"}

// pureBans are what a pure package must not name.
var pureBans = []string{"net", "os", "crypto/tls", "github.com/cockroachdb/pebble", Module + "/certs"}

// CheckImports holds the import rules for product files and, where a ban says so, for tests. Test files
// otherwise are free to import what they need: an external test of the hub may start a relay.
func CheckImports(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Files {
		for _, path := range f.Imports() {
			out = append(out, checkBans(f, path)...)
			if f.Test {
				continue
			}
			out = append(out, checkEdge(f, path)...)
			out = append(out, checkPure(f, path)...)
		}
	}
	return out
}

func checkEdge(f *File, path string) []Finding {
	to, ours := strings.CutPrefix(path, Module+"/")
	if !ours {
		return nil
	}
	for _, e := range Forbidden {
		if owner(f.Package) == owner(e.From) && within(to, e.To) && !mayImport(f.Package, to) {
			return []Finding{{f.Path, f.Package + " must not import " + to, e.Why}}
		}
	}
	if !mayImport(f.Package, to) {
		return []Finding{{f.Path, f.Package + " must not import " + to, "not in the table of allowed imports"}}
	}
	return nil
}

// owner is the folder whose row in Allowed speaks for a package; "" when none does.
func owner(pkg string) string {
	best := ""
	for folder := range Allowed {
		if within(pkg, folder) && len(folder) > len(best) {
			best = folder
		}
	}
	return best
}

func mayImport(from, to string) bool {
	row := owner(from)
	return slices.ContainsFunc(Allowed[row], func(folder string) bool {
		if folder == "hub/wire" || folder == to {
			return folder == to
		}
		// The relay speaks to the core through package hub, not through the core's own folders.
		if row == "relay" && folder == "hub" {
			return false
		}
		return within(to, folder)
	})
}

func checkBans(f *File, path string) []Finding {
	for _, b := range Bans {
		if path != b.Path && !strings.HasPrefix(path, b.Path+"/") {
			continue
		}
		if b.Path == "log" && path != "log" {
			continue
		}
		if within(f.Package, b.Only...) || (f.Test && !b.Tests) || (within(f.Package, "testenv") && slices.Contains(b.Except, path)) {
			continue
		}
		return []Finding{{f.Path, f.Package + " must not import " + path, b.Why}}
	}
	return nil
}

func checkPure(f *File, path string) []Finding {
	if !within(f.Package, Pure...) {
		return nil
	}
	for _, ban := range pureBans {
		if path == ban || strings.HasPrefix(path, ban+"/") {
			return []Finding{{f.Path, f.Package + " must not import " + path, "a pure package decides from its arguments alone"}}
		}
	}
	return nil
}
