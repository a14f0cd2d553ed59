package house

import (
	"go/ast"
	"strings"
)

// CheckCalls holds the rules about single expressions: where time is read and where a tls.Config is built.
func CheckCalls(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			out = append(out, checkSelector(f, sel)...)
			return true
		})
		out = append(out, checkTLS(f)...)
	}
	return out
}

func checkSelector(f *File, sel *ast.SelectorExpr) []Finding {
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || pkg.Name != "time" {
		return nil
	}
	switch sel.Sel.Name {
	case "Now", "Since", "Until":
		if within(f.Package, Pure...) {
			return []Finding{{f.at(sel.Pos()), "time." + sel.Sel.Name + " in a pure package", "time comes in as an argument, live and at replay alike"}}
		}
	case "Sleep":
		if !within(f.Package, "testenv") {
			return []Finding{{f.at(sel.Pos()), "time.Sleep in the product", "wait for the condition or a context, never for a time"}}
		}
	}
	return nil
}

// checkTLS finds literals, new() and variables of type tls.Config. Naming the pointer type is free.
func checkTLS(f *File) []Finding {
	if within(f.Package, "certs", "testenv") {
		return nil
	}
	var out []Finding
	found := func(n ast.Expr) {
		out = append(out, Finding{f.at(n.Pos()), "tls.Config built outside certs", "one verify function for every path; certs is the only maker"})
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if isTLSConfig(n.Type) {
				found(n)
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "new" && len(n.Args) == 1 && isTLSConfig(n.Args[0]) {
				found(n)
			}
		case *ast.ValueSpec:
			if isTLSConfig(n.Type) {
				found(n.Type)
			}
		}
		return true
	})
	return out
}

func isTLSConfig(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && strings.EqualFold(pkg.Name, "tls") && sel.Sel.Name == "Config"
}
