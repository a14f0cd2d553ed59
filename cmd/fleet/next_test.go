package main

import (
	"go/ast"
	"go/token"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/house"
)

func TestForFolder(t *testing.T) {
	root := (&app{out: io.Discard, err: io.Discard}).root()
	for next, want := range map[string]string{
		"fleet status":                              "fleet status --dir /n",
		"fleet status, or stop it first":            "fleet status --dir /n, or stop it first",
		"fleet init --hub ID":                       "fleet init --dir /n --hub ID",
		"Start it with fleet serve":                 "Start it with fleet serve --dir /n",
		"fleet agent token create --seat a/b":       "fleet agent token create --dir /n --seat a/b",
		"fleet journal inspect 4, then fleet serve": "fleet journal inspect --dir /n 4, then fleet serve --dir /n",
		"fleet peer add --help shows an example":    "fleet peer add --help shows an example",
		"on the other hub: fleet status":            "on the other hub: fleet status",
		"fleet peer":                                "fleet peer",
		"fleet demo":                                "fleet demo",
		"the fleet of ships":                        "the fleet of ships",
		"check the disk":                            "check the disk",
	} {
		if got := forFolder(root, next, "/n"); got != want {
			t.Errorf("%q became %q, want %q", next, got, want)
		}
		if got := forFolder(root, next, ""); got != next {
			t.Errorf("%q became %q without a folder", next, got)
		}
	}
	if got := forFolder(root, "fleet status", "/a b/it's"); got != `fleet status --dir '/a b/it'\''s'` {
		t.Error(got)
	}
}

var namedCommand = regexp.MustCompile(`\bfleet((?: [a-z]+)+)`)

// unknownCommands lists the commands a next step names that this program has not got.
func unknownCommands(root *cobra.Command, next string) (unknown []string) {
	for _, m := range namedCommand.FindAllStringSubmatch(next, -1) {
		cmd := root
		for _, word := range strings.Fields(m[1]) {
			child := childOf(cmd, word)
			if child == nil {
				break
			}
			cmd = child
		}
		if cmd == root || cmd.HasSubCommands() && cmd.Name() != "help" {
			unknown = append(unknown, strings.TrimSpace(m[0]))
		}
	}
	return unknown
}

// TestNextStepsExist holds that advice names only commands that there are: in the list of reasons, and in every next
// step written in the source.
func TestNextStepsExist(t *testing.T) {
	root := (&app{out: io.Discard, err: io.Discard}).root()
	if got := unknownCommands(root, "settle it with fleet journal reconcile, or fleet nosuch"); len(got) != 2 {
		t.Fatalf("of two commands that do not exist, found %q", got)
	}
	for _, r := range wire.Reasons() {
		for _, name := range unknownCommands(root, r.Next) {
			t.Errorf("%s: the next step names %q", r.Word, name)
		}
	}
	dir, err := house.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := house.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range tree.Files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			for _, text := range nextTexts(n) {
				found++
				for _, name := range unknownCommands(root, text) {
					t.Errorf("%s: a next step names %q", f.Path, name)
				}
			}
			return true
		})
	}
	if found < 30 {
		t.Errorf("only %d next steps found in the source", found)
	}
}

// nextTexts are the literals of a field called Next, of a constant or variable called next…, and of a text with a
// line of that kind.
func nextTexts(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Next" {
			return literals(n.Value)
		}
	case *ast.ValueSpec:
		if strings.HasPrefix(n.Names[0].Name, "next") {
			return literals(n.Values...)
		}
	case *ast.BasicLit:
		for _, text := range literals(n) {
			if strings.Contains(text, "\nnext: ") {
				return []string{text}
			}
		}
	}
	return nil
}

func literals[E ast.Expr](of ...E) (texts []string) {
	for _, e := range of {
		ast.Inspect(e, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	return texts
}

// TestExamples holds the README's word: every command that people are shown has an example.
func TestExamples(t *testing.T) {
	var walk func(c *cobra.Command)
	seen := 0
	walk = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			if !child.IsAvailableCommand() || child.Name() == "completion" || child.Name() == "help" {
				continue
			}
			seen++
			if !strings.Contains(child.Example, "fleet ") {
				t.Errorf("%s has no example", child.CommandPath())
			}
			walk(child)
		}
	}
	walk((&app{out: io.Discard, err: io.Discard}).root())
	if seen < 20 {
		t.Errorf("only %d commands", seen)
	}
}
