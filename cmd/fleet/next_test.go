package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
	"fleetrelay/testenv/house"
)

func TestForFolder(t *testing.T) {
	root := testRoot()
	for _, c := range []struct {
		next       node.Next
		want, here string
	}{
		{node.Command("status"), "fleet status --dir /n", "fleet status"},
		{node.Command("init", "--hub", "ID"), "fleet init --dir /n --hub ID", "fleet init --hub ID"},
		{node.Command("agent", "token", "create", "--seat", "a/b"), "fleet agent token create --dir /n --seat a/b", "fleet agent token create --seat a/b"},
		{node.Command("journal", "inspect", "4"), "fleet journal inspect --dir /n 4", "fleet journal inspect 4"},
		{node.Command("peer", "approve", "--help"), "fleet peer approve --help", "fleet peer approve --help"},
		{node.Command("peer", "approve", "--by", "Dana Ito", "--may-reach", "a/*"), "fleet peer approve --dir /n --by 'Dana Ito' --may-reach 'a/*'", "fleet peer approve --by 'Dana Ito' --may-reach 'a/*'"},
		{node.Chmod("600", "/a b/key.pem"), "chmod 600 '/a b/key.pem'", "chmod 600 '/a b/key.pem'"},
		{node.Command("demo"), "fleet demo", "fleet demo"},
		{node.Advice("start it again with fleet serve."), "start it again with fleet serve", "start it again with fleet serve"},
	} {
		if got := forFolder(root, c.next, "/n"); got != c.want {
			t.Errorf("%q became %q, want %q", c.next, got, c.want)
		}
		if got := forFolder(root, c.next, ""); got != c.here {
			t.Errorf("%q became %q without a folder", c.next, got)
		}
	}
	if got := forFolder(root, node.Command("status"), "/a b/it's"); got != `fleet status --dir '/a b/it'\''s'` {
		t.Error(got)
	}
}

func testRoot() *cobra.Command { return (&app{out: io.Discard, err: io.Discard}).root() }

var (
	namedCommand = regexp.MustCompile(`\bfleet((?: [a-z]+)+)`)
	chmodWords   = regexp.MustCompile(`^chmod\n(?:[0-7]{3}|[ugo]+\+[rwX]+)\n/[^\n]*$`)
	// mixed is a command within a sentence that looks as if it could be copied.
	mixed = regexp.MustCompile(`[:;] fleet [a-z]|\bfleet [a-z ]+ -|\n`)
)

// checkNext says how a next step breaks the rule of node.Next, nil if it does not.
func checkNext(text string) error {
	root := testRoot()
	if strings.HasPrefix(text, "fleet ") {
		return checkCommand(root, shellWords(text)[1:])
	}
	if words := shellWords(text); len(words) > 0 && words[0] == "chmod" {
		if !chmodWords.MatchString(strings.Join(words, "\n")) {
			return fmt.Errorf("chmod takes a mode and a path: %q", text)
		}
		return nil
	}
	switch at := mixed.FindString(text); {
	case text == "":
		return errors.New("there is none")
	case at != "":
		return fmt.Errorf("a sentence with a command in it (%q): %q", at, text)
	}
	for _, m := range namedCommand.FindAllStringSubmatch(text, -1) {
		if cmd := deepest(root, strings.Fields(m[1])); cmd == root || isGroup(cmd) {
			return fmt.Errorf("there is no %q: %q", strings.TrimSpace(m[0]), text)
		}
	}
	return nil
}

func deepest(cmd *cobra.Command, words []string) *cobra.Command {
	for _, word := range words {
		child := childOf(cmd, word)
		if child == nil {
			break
		}
		cmd = child
	}
	return cmd
}

// checkCommand understands a command line as the program would, short of running it.
func checkCommand(root *cobra.Command, words []string) error {
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return fmt.Errorf("%q: %w", words, err)
	}
	if help, err := cmd.Flags().GetBool("help"); err == nil && help && cmd.Flags().NArg() == 0 {
		return nil
	}
	if isGroup(cmd) {
		return fmt.Errorf("%q is a group of commands", words)
	}
	return errors.Join(cmd.ValidateArgs(cmd.Flags().Args()), cmd.ValidateRequiredFlags())
}

// shellWords splits a command line as a shell does that knows single quotes only.
func shellWords(line string) (words []string) {
	word, begun, within := "", false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			within, begun = !within, true
		case c == '\\' && !within && i+1 < len(line):
			i++
			word, begun = word+line[i:i+1], true
		case c == ' ' && !within:
			if begun {
				words = append(words, word)
			}
			word, begun = "", false
		default:
			word, begun = word+string(rune(c)), true
		}
	}
	if begun {
		words = append(words, word)
	}
	return words
}

func TestCheckNext(t *testing.T) {
	for text, good := range map[string]bool{
		"fleet status --dir /n":                                 true,
		"fleet status, or stop it first":                        false,
		"fleet init --hub hub.example, which puts it back":      false,
		"fleet peer reject":                                     false, // its flags are missing
		"fleet peer approve --help":                             true,
		"fleet peer approve --help shows an example":            false,
		"fleet peer show":                                       false,
		"fleet peer show --dir '/a b' hub.example":              true,
		"fleet peer":                                            false,
		"fleet nosuch":                                          false,
		"stop what uses it, or: fleet serve --agents :1":        false,
		"on the other hub: fleet status":                        false,
		"see with fleet journal verify what is damaged":         true,
		"create one with fleet agent token create --seat a/b":   false,
		"nothing is left to do; fleet journal inspect shows it": false,
		"settle it with fleet nosuch":                           false,
		"":                                                      false,
		"chmod 600 '/a b/key.pem'":                              true,
		"chmod 600 /a/key.pem and start it again":               false,
		"chmod key.pem":                                         false,
	} {
		if err := checkNext(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNextSteps holds the rule of node.Next over every place that makes one: the list of reasons, what stands beside a
// link, the calls of Command and Advice, and the texts that packages below give as a next step. What is put together at
// run time is checked again by the scripts, see checkedMain.
func TestNextSteps(t *testing.T) {
	for _, r := range append(wire.Reasons(), wire.ReasonInfo{}) {
		if err := checkNext(r.Next); err != nil && r.Word != "" {
			t.Errorf("%s: %v", r.Word, err)
		}
		checkBesideLink(t, r.Word)
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
			for _, text := range nextTexts(n, strings.HasPrefix(f.Path, "cmd/fleet/")) {
				found++
				if err := checkNext(text); err != nil {
					t.Errorf("%s: %v", f.Path, err)
				}
			}
			return true
		})
	}
	if found < 50 {
		t.Errorf("only %d next steps found in the source", found)
	}
}

// checkBesideLink holds what is said beside a link that is down for a reason; "" is one that has not been up so far.
func checkBesideLink(t *testing.T, reason wire.Reason) {
	t.Helper()
	for _, remote := range []bool{false, true} {
		for attempts := range 2 {
			why, next := node.PeerStatus{Hub: "hub.example", Endpoints: []string{"127.0.0.1:1"}, LinkReason: string(reason), LinkRemote: remote, LinkAttempts: attempts}.LinkWhy()
			if err := checkNext(next.String()); err != nil || (why == "" && reason != "") {
				t.Errorf("beside a link, %s: %q, %v", reason, why, err)
			}
		}
	}
}

// nextTexts are the next steps a part of the source makes; ours says that it is the command line's.
func nextTexts(n ast.Node, ours bool) []string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if ours {
			return calledNext(n)
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Next" {
			return plainNext(n.Value)
		}
	case *ast.ValueSpec:
		if strings.HasPrefix(n.Names[0].Name, "next") && len(n.Values) == 1 {
			return plainNext(n.Values[0])
		}
	case *ast.AssignStmt:
		if name, ok := n.Lhs[0].(*ast.Ident); ok && strings.HasPrefix(name.Name, "next") && len(n.Rhs) == 1 {
			return plainNext(n.Rhs[0])
		}
	}
	return nil
}

// calledNext is what a call of Command or Advice makes.
func calledNext(call *ast.CallExpr) []string {
	name := ""
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		name = fun.Name
	case *ast.SelectorExpr:
		name = fun.Sel.Name
	}
	switch {
	case name == "Advice" && len(call.Args) == 1:
		if text := textOf(call.Args[0]); text != something {
			return []string{text}
		}
	case name == "Command" && len(call.Args) > 0 && !call.Ellipsis.IsValid():
		var words []string
		for _, arg := range call.Args {
			words = append(words, textOf(arg))
		}
		return []string{node.Command(words...).String()}
	}
	return nil
}

// plainNext is a next step given as a text, as packages below the command line do.
func plainNext(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit, *ast.BinaryExpr:
	case *ast.CallExpr:
		if sel, ok := e.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Sprintf" {
			return nil
		}
	default:
		return nil
	}
	if text := textOf(e); text != "" && text != something {
		return []string{text}
	}
	return nil
}

// something stands for what is known at run time only.
const something = "1"

var verb = regexp.MustCompile(`%[a-z]`)

// textOf is a text as far as the source says it.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.ParenExpr:
		return textOf(e.X)
	case *ast.CallExpr:
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sprintf" {
			return verb.ReplaceAllString(textOf(e.Args[0]), something)
		}
	}
	return something
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
	walk(testRoot())
	if seen < 20 {
		t.Errorf("only %d commands", seen)
	}
}
