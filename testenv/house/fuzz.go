package house

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
)

// Names by which decoders, fuzz targets and the tests that show a target a planted bug are known.
var (
	decoderName = regexp.MustCompile(`^([Pp]arse|[Dd]ecode|[Uu]nmarshal)([A-Z_].*)?$`)
	fuzzName    = regexp.MustCompile(`^Fuzz`)
	plantedName = regexp.MustCompile(`^Test.*Finds?(Planted)?(Bugs?|Faults?)$`)
)

// Unfuzzed are packages whose decoders need no fuzz target, each with its reason. There is none.
var Unfuzzed = map[string]string{}

// CheckFuzz holds that a package which takes bytes or text apart has a fuzz target, and that one with a fuzz target shows
// by a test that it finds a planted bug. Methods count like functions; a decoder of something already decoded is none.
func CheckFuzz(t *Tree) []Finding {
	decoders := map[string]Finding{}
	fuzzed, planted := map[string]bool{}, map[string]bool{}
	for _, f := range t.Files {
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := fn.Name.Name
			switch {
			case f.Test:
				fuzzed[f.Package] = fuzzed[f.Package] || fuzzName.MatchString(name)
				planted[f.Package] = planted[f.Package] || plantedName.MatchString(name)
			case decoderName.MatchString(name) && takesBytes(fn.Type) && decoders[f.Package] == Finding{}:
				decoders[f.Package] = Finding{f.at(fn.Pos()), name + " without a fuzz target", "what comes from outside or from disk may be anything"}
			}
		}
	}
	var out []Finding
	for _, pkg := range slices.Sorted(maps.Keys(decoders)) {
		if !fuzzed[pkg] && Unfuzzed[pkg] == "" {
			out = append(out, decoders[pkg])
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(fuzzed)) {
		if fuzzed[pkg] && !planted[pkg] {
			out = append(out, Finding{pkg, "fuzz targets without a planted bug", "a target that finds nothing looks like one that passes: show it a bug in a test named …FindsPlantedBugs"})
		}
	}
	return out
}

// takesBytes says whether a function has a parameter of type []byte, string or io.Reader.
func takesBytes(fn *ast.FuncType) bool {
	return slices.ContainsFunc(fn.Params.List, func(p *ast.Field) bool {
		switch typ := p.Type.(type) {
		case *ast.Ident:
			return typ.Name == "string"
		case *ast.ArrayType:
			elem, ok := typ.Elt.(*ast.Ident)
			return ok && typ.Len == nil && elem.Name == "byte"
		case *ast.SelectorExpr:
			return typ.Sel.Name == "Reader"
		}
		return false
	})
}
