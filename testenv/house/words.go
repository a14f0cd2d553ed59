package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"fleetrelay/hub/wire"
)

// planWord is how plans are counted. Nothing that ships may speak of the plan it came from: numbers of that
// kind mean nothing to whoever reads a log two years later.
var planWord = regexp.MustCompile(`(?i)(issue|ticket|milestone|sprint|phase)[-_ ]?[0-9]+`)

// frameInText finds a frame type written inside a larger literal, as in a frame built by hand.
var frameInText = regexp.MustCompile(`"type"\s*:\s*"([a-z_]+)"`)

// Homes of the two lists of words.
const (
	reasonsFile = "hub/wire/reasons.go"
	typesFile   = "hub/wire/types.go"
)

var wordTypes = map[string]string{"Reason": reasonsFile, "FrameType": typesFile, "LinkType": typesFile}

// CheckWords holds that every reason and frame type comes from the lists of package wire, and that nothing is
// named after a plan. A word may be written inside a literal (a log attribute or field called reason, a frame's
// text built by hand) if the list has it; conversions of literals to the lists' types are for the lists alone.
func CheckWords(t *Tree) []Finding {
	reasons, frames := map[string]bool{}, map[string]bool{}
	for _, r := range wire.Reasons() {
		reasons[string(r.Word)] = true
	}
	for _, f := range append(wire.AgentFrameTypes(), wire.HubFrameTypes()...) {
		frames[string(f)] = true
	}
	for _, l := range wire.LinkTypes() {
		frames[string(l)] = true
	}
	var out []Finding
	for _, name := range t.Names {
		if planWord.MatchString(name) {
			out = append(out, Finding{name, "name of a file", "names no plan"})
		}
	}
	for _, f := range t.Files {
		w := wordScan{f: f, reasons: reasons, frames: frames}
		ast.Inspect(f.AST, w.visit)
		out = append(out, w.out...)
	}
	return out
}

type wordScan struct {
	f       *File
	reasons map[string]bool
	frames  map[string]bool
	out     []Finding
}

func (w *wordScan) add(pos token.Pos, rule, why string) {
	w.out = append(w.out, Finding{w.f.at(pos), rule, why})
}

func (w *wordScan) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		if planWord.MatchString(n.Name) {
			w.add(n.Pos(), "identifier "+n.Name, "names no plan")
		}
	case *ast.BasicLit:
		w.literal(n)
	case *ast.CallExpr:
		w.call(n)
	case *ast.ValueSpec:
		w.typed(n.Type, n.Values)
	case *ast.KeyValueExpr:
		w.field(n)
	}
	return true
}

func (w *wordScan) literal(n *ast.BasicLit) {
	text, ok := stringLit(n)
	if !ok {
		return
	}
	if planWord.MatchString(text) {
		w.add(n.Pos(), "text "+n.Value, "names no plan")
	}
	if w.f.Test || within(w.f.Package, "hub/wire") {
		return
	}
	if m := frameInText.FindStringSubmatch(text); m != nil && !w.frames[m[1]] {
		w.add(n.Pos(), "frame type "+m[1]+" written by hand", "frame types stand in "+typesFile)
	}
}

// call checks conversions such as wire.Reason("x") and pairs such as slog.String("reason", "x").
func (w *wordScan) call(n *ast.CallExpr) {
	if _, ok := wordType(n.Fun); ok {
		w.typed(n.Fun, n.Args)
		return
	}
	if w.f.Test {
		return
	}
	for i := 0; i+1 < len(n.Args); i++ {
		key, ok := stringLit(n.Args[i])
		if !ok || key != "reason" {
			continue
		}
		if word, ok := stringLit(n.Args[i+1]); ok && !w.reasons[word] {
			w.add(n.Args[i+1].Pos(), "reason "+strconv.Quote(word), "not in "+reasonsFile)
		}
	}
}

// typed reports string literals that become a word without being in the file of the list.
func (w *wordScan) typed(typ ast.Expr, values []ast.Expr) {
	name, ok := wordType(typ)
	if !ok || w.f.Test || w.f.Path == wordTypes[name] {
		return
	}
	for _, v := range values {
		if word, ok := stringLit(v); ok && word != "" {
			w.add(v.Pos(), name+" "+strconv.Quote(word)+" made here", "words stand in "+wordTypes[name])
		}
	}
}

func (w *wordScan) field(n *ast.KeyValueExpr) {
	key, ok := n.Key.(*ast.Ident)
	if !ok || w.f.Test || w.f.Path == reasonsFile {
		return
	}
	word, ok := stringLit(n.Value)
	if ok && key.Name == "Reason" && word != "" && !w.reasons[word] {
		w.add(n.Pos(), "reason "+strconv.Quote(word), "not in "+reasonsFile)
	}
}

// wordType names the list a type expression belongs to: wire.Reason anywhere, Reason inside package wire.
func wordType(e ast.Expr) (string, bool) {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); !ok || pkg.Name != "wire" {
			return "", false
		}
		name = e.Sel.Name
	}
	_, ok := wordTypes[name]
	return name, ok
}

func stringLit(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// wordForm is what a word of a list looks like: it must survive as a metric label and a log value.
var wordForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// CheckLists holds that the words themselves are well formed, unique and explained.
func CheckLists() []Finding {
	var out []Finding
	seen := map[string]bool{}
	for _, r := range wire.Reasons() {
		word := string(r.Word)
		switch {
		case !wordForm.MatchString(word):
			out = append(out, Finding{reasonsFile, word, "lower case letters, digits and underscores only"})
		case seen[word]:
			out = append(out, Finding{reasonsFile, word, "twice in the list"})
		case strings.TrimSpace(r.Meaning) == "" || strings.TrimSpace(r.Next) == "":
			out = append(out, Finding{reasonsFile, word, "needs a meaning and a next step"})
		}
		seen[word] = true
	}
	return out
}
