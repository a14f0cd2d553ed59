package house

import (
	"os"
	"slices"
	"strings"
)

// TopLevel is all that may lie at the top of the tree besides dot files and bin, which is built and ignored.
var TopLevel = []string{
	"relay", "hub", "federation", "certs", "testenv", "cmd", "docs",
	"go.mod", "go.sum", "Makefile", "README.md", "LICENSE",
}

// CheckTopLevel holds that the first listing a reader sees shows the architecture and nothing else.
func CheckTopLevel(root string) ([]Finding, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var out []Finding
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || slices.Contains(TopLevel, e.Name()) {
			continue
		}
		out = append(out, Finding{e.Name(), "top level", "the layout is the architecture; put it in one of its folders"})
	}
	return out, nil
}

// CheckDependencies holds that each direct dependency of a go.mod, tools included, has its sentence in doc.
func CheckDependencies(mod, doc string) []Finding {
	var out []Finding
	for _, path := range Direct(mod) {
		if !strings.Contains(doc, "`"+path+"`") {
			out = append(out, Finding{"docs/dependencies.md", path, "a dependency needs a sentence of justification"})
		}
	}
	return out
}

// Direct lists the modules a go.mod requires directly and the tools it names.
func Direct(mod string) []string {
	var out []string
	block := ""
	for line := range strings.Lines(mod) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		switch {
		case line == ")":
			block = ""
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
		case len(fields) == 0 || strings.HasSuffix(line, "// indirect"):
		case block == "require" || block == "tool":
			out = append(out, fields[0])
		case fields[0] == "require" || fields[0] == "tool":
			out = append(out, fields[1])
		}
	}
	return out
}
