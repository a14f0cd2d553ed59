package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Module is the module path whose packages the rules speak of.
const Module = "fleetrelay"

// File is one parsed Go file of a tree.
type File struct {
	Path    string // slash-separated, from the root
	Package string // folder, from the root: "hub/wire"
	Test    bool
	Set     *token.FileSet
	AST     *ast.File
}

// Finding is one broken rule at one place.
type Finding struct {
	Where string // path, with :line where there is one
	Rule  string
	Why   string
}

func (f Finding) String() string { return f.Where + ": " + f.Rule + ": " + f.Why }

// Tree is the source below one root. Folders named testdata and hidden folders are left out of Files, but the
// names of everything outside hidden folders and bin are in Names.
type Tree struct {
	Root  string
	Files []*File
	Names []string
}

// Load parses every Go file below root. A file that does not parse is an error: a rule that cannot be checked
// must not pass.
func Load(root string) (*Tree, error) {
	t := &Tree{Root: root}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		return t.visit(filepath.ToSlash(rel), d)
	})
	return t, err
}

func (t *Tree) visit(rel string, d fs.DirEntry) error {
	if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || rel == "bin") {
		return filepath.SkipDir
	}
	t.Names = append(t.Names, rel)
	if d.IsDir() || !strings.HasSuffix(rel, ".go") || strings.Contains("/"+rel, "/testdata/") {
		return nil
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.Join(t.Root, rel), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("house: %w", err)
	}
	t.Files = append(t.Files, &File{
		Path: rel, Package: path.Dir(rel), Test: strings.HasSuffix(rel, "_test.go"), Set: set, AST: parsed,
	})
	return nil
}

// Imports returns the import paths of the file.
func (f *File) Imports() []string {
	var out []string
	for _, spec := range f.AST.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func (f *File) at(pos token.Pos) string {
	return f.Path + ":" + strconv.Itoa(f.Set.Position(pos).Line)
}

// within says whether a folder is one of, or lies below one of, the given folders.
func within(pkg string, folders ...string) bool {
	for _, folder := range folders {
		if pkg == folder || strings.HasPrefix(pkg, folder+"/") {
			return true
		}
	}
	return false
}

// ModuleRoot finds the folder with go.mod above the working directory, where a test of this module starts.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, serr := os.Stat(filepath.Join(dir, "go.mod")); serr == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fs.ErrNotExist
		}
		dir = parent
	}
	return "", err
}
