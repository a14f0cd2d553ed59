package house

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write generated documents again")

func thisTree(t *testing.T) *Tree {
	t.Helper()
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) < 20 {
		t.Fatalf("only %d Go files below %s: the rules would hold of nothing", len(tree.Files), root)
	}
	return tree
}

func report(t *testing.T, findings []Finding) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

func TestImports(t *testing.T) { report(t, CheckImports(thisTree(t))) }
func TestCalls(t *testing.T)   { report(t, CheckCalls(thisTree(t))) }
func TestWords(t *testing.T)   { report(t, CheckWords(thisTree(t))) }
func TestFuzz(t *testing.T)    { report(t, CheckFuzz(thisTree(t))) }
func TestLists(t *testing.T)   { report(t, CheckLists()) }

func TestTopLevel(t *testing.T) {
	findings, err := CheckTopLevel(thisTree(t).Root)
	if err != nil {
		t.Fatal(err)
	}
	report(t, findings)
}

func TestDependenciesHaveTheirSentence(t *testing.T) {
	root := thisTree(t).Root
	mod, doc := read(t, root, "go.mod"), read(t, root, "docs/dependencies.md")
	if len(Direct(mod)) < 5 {
		t.Fatalf("found only %v in go.mod", Direct(mod))
	}
	report(t, CheckDependencies(mod, doc))
}

func TestReasonsDocument(t *testing.T) {
	path := filepath.Join(thisTree(t).Root, "docs", "reasons.md")
	if *update {
		if err := os.WriteFile(path, []byte(ReasonsDoc()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ReasonsDoc(), string(got)); diff != "" {
		t.Errorf("docs/reasons.md is old: go test ./testenv/house -run Reasons -update\n%s", diff)
	}
}

// TestPlanted shows every rule the violation it exists for. The planted tree lists in its comment, one a line,
// the place and the beginning of the rule of each finding; there must be these and no others.
func TestPlanted(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "planted.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range archive.Files {
		// The number is put in here, so that the planted names do not break the rule in this tree.
		name := filepath.Join(root, strings.ReplaceAll(f.Name, "{N}", "7"))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(f.Data), "{N}", "7")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	findings := append(CheckImports(tree), CheckCalls(tree)...)
	findings = append(findings, CheckWords(tree)...)
	findings = append(findings, CheckFuzz(tree)...)
	top, err := CheckTopLevel(root)
	if err != nil {
		t.Fatal(err)
	}
	findings = append(findings, top...)
	matchPlanted(t, strings.ReplaceAll(string(archive.Comment), "{N}", "7"), findings)
}

func matchPlanted(t *testing.T, comment string, findings []Finding) {
	t.Helper()
	left := map[int]string{}
	for i, f := range findings {
		left[i] = f.Where + ": " + f.Rule
	}
	for want := range strings.Lines(comment) {
		want, ok := strings.CutPrefix(strings.TrimSpace(want), "want ")
		if !ok {
			continue
		}
		found := false
		for i, got := range left {
			if strings.HasPrefix(got, want) {
				delete(left, i)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("not found: %s", want)
		}
	}
	for _, got := range left {
		t.Errorf("not planted: %s", got)
	}
}

func TestPlantedDependencyWithoutSentence(t *testing.T) {
	mod := "module m\n\nrequire (\n\texample.org/told v1.0.0\n\texample.org/untold v1.0.0\n\texample.org/other v1 // indirect\n)\n\ntool example.org/tool\n"
	got := CheckDependencies(mod, "- `example.org/told`: needed.\n")
	if len(got) != 2 || got[0].Rule != "example.org/untold" || got[1].Rule != "example.org/tool" {
		t.Errorf("got %v", got)
	}
}

func TestEveryForbiddenEdgeIsForbidden(t *testing.T) {
	for _, e := range Forbidden {
		if e.Why == "" {
			t.Errorf("%s to %s has no reason", e.From, e.To)
		}
		if owner(e.From) != e.From || mayImport(e.From, e.To) {
			t.Errorf("%s to %s contradicts the table of allowed imports", e.From, e.To)
		}
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
