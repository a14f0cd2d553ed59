package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

// commandWord is a word that may name a command.
var commandWord = regexp.MustCompile(`^[a-z_]+$`)

// forFolder is a next step as it is printed. Whatever package a command comes from, it gets the folder it is meant for,
// so that it can be copied, unless the folder is the one meant without it ("").
func forFolder(root *cobra.Command, next node.Next, dir string) string {
	text := next.String()
	if dir == "" || !next.IsCommand() || !strings.HasPrefix(text, "fleet ") {
		return text
	}
	length := commandLength(root, text)
	if length == 0 || strings.HasSuffix(text, " --help") {
		return text
	}
	return text[:length] + " --dir " + node.Quoted(dir) + text[length:]
}

// lead prints the step that comes after a command that was done, for people.
func (a *app) lead(cmd *cobra.Command, next node.Next) {
	if !a.json {
		a.say("next: %s\n", forFolder(cmd.Root(), next, a.folderToName()))
	}
}

// commandLength is how many bytes at the beginning of a text name a command that works on a node's folder; 0 if none.
func commandLength(root *cobra.Command, text string) int {
	cmd, length := root, len("fleet")
	for _, word := range strings.Fields(text)[1:] {
		child := childOf(cmd, word)
		if child == nil {
			break
		}
		cmd, length = child, length+1+len(word)
	}
	if cmd == root || isGroup(cmd) || slices.Contains([]string{"demo", "version", "help"}, cmd.Name()) {
		return 0
	}
	return length
}

func childOf(cmd *cobra.Command, word string) *cobra.Command {
	if !commandWord.MatchString(word) {
		return nil
	}
	at := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
	if at < 0 {
		return nil
	}
	return cmd.Commands()[at]
}

// folderToName is the folder that a next step has to name, "" where the command line finds it by itself.
func (a *app) folderToName() string {
	dir, err := a.nodeDir()
	if err != nil {
		return ""
	}
	// FLEET_DIR may have been set for one command only.
	if usual, err := dataDir(); err == nil && os.Getenv(envDir) == "" && filepath.Clean(usual) == dir {
		return ""
	}
	return dir
}
