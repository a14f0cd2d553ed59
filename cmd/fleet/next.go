package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A next step names commands as `fleet status` or `fleet agent token create --seat a/b`. Whatever package it comes
// from, it is printed with the folder it is meant for, so that it can be copied.
var (
	commandStart = regexp.MustCompile(`\bfleet [a-z]`)
	commandWord  = regexp.MustCompile(`^[a-z_]+$`)
	plainPath    = regexp.MustCompile(`^[A-Za-z0-9/._+@%:=-]+$`)
)

// elsewhere is how a next step says that its command is for another node.
const elsewhere = "other hub"

// forFolder puts --dir into every command of a next step, unless the folder is the one meant without it.
func forFolder(root *cobra.Command, next, dir string) string {
	if dir == "" || strings.Contains(next, elsewhere) {
		return next
	}
	option := " --dir " + quoted(dir)
	var b strings.Builder
	for {
		at := commandStart.FindStringIndex(next)
		if at == nil {
			b.WriteString(next)
			return b.String()
		}
		length := commandLength(root, next[at[0]:])
		end := at[0] + max(length, 1)
		b.WriteString(next[:end])
		next = next[end:]
		if length > 0 && !strings.HasPrefix(next, " --help") {
			b.WriteString(option)
		}
	}
}

// commandLength is how many bytes at the beginning of a text name a command that works on a node's folder; 0 if none.
func commandLength(root *cobra.Command, text string) int {
	cmd, length := root, len("fleet")
	for _, word := range strings.Fields(text)[1:] {
		word, ended := strings.CutSuffix(word, ",")
		child := childOf(cmd, word)
		if child == nil {
			break
		}
		cmd, length = child, length+1+len(word)
		if ended {
			break
		}
	}
	if cmd == root || cmd.HasSubCommands() || slices.Contains([]string{"demo", "version", "help"}, cmd.Name()) {
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

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
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
