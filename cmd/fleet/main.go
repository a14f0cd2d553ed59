// Command fleet is a Fleet node and its operator's command line in one binary.
//
// What scripts rely on: answers on standard output, everything else on standard error; `--json` where the answer
// is data; exit 0 done, 1 refused or found wanting, 2 wrong usage, 3 the journal failed, 4 the store is refused
// (rewound, damaged, another hub's, newer than this build). An error names its reason word, one sentence and the
// next step. One file holds one command; what the daemon does is in package node.
package main

import (
	"os"
)

// version is set by the linker for releases.
var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
