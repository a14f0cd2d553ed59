package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
)

// Exit codes.
const (
	exitDone    = 0
	exitRefused = 1
	exitUsage   = 2
	exitJournal = 3
	exitStore   = 4
)

// usageError is a command line that cannot be understood.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// wanting is a finished check whose answer is no; the answer itself is on standard output already. Its exit code is
// exitRefused whatever its reason: nothing was refused for that reason.
type wanting struct {
	reason wire.Reason
	text   string
	next   node.Next
}

func (e *wanting) Error() string { return e.text }

// broken is a check or measurement of this machine that failed or found something wanting.
func broken(text string) *wanting {
	return &wanting{wire.ReasonCheckFailed, text, node.Advice("look at what it printed before")}
}

// exitError is an exit code whose cause has been told already.
type exitError struct{ code int }

func (e *exitError) Error() string { return "told already" }

// told turns the exit code of a program within this one into the end of the command.
func told(code int) error {
	if code == exitDone {
		return nil
	}
	return &exitError{code}
}

// exit prints an error as people need it and returns the code scripts need.
func (a *app) exit(root, cmd *cobra.Command, err error) int {
	if err == nil {
		return exitDone
	}
	var bad *usageError
	var no *wanting
	var ended *exitError
	switch {
	case errors.As(err, &ended):
		return ended.code
	case errors.As(err, &bad) || !a.began:
		if cmd.Name() == "help" {
			cmd = root
		}
		help := node.Command(append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		a.tell(refused{Reason: wire.ReasonWrongUsage, Text: err.Error(), Next: help.String()})
		return exitUsage
	case errors.As(err, &no):
		a.tell(refused{Reason: no.reason, Text: no.text, Next: forFolder(root, no.next, a.folderToName())})
		return exitRefused
	}
	r := node.Explain(err)
	text := r.Text
	if r.Err != nil {
		text += ": " + node.Plain(r.Err.Error())
	}
	a.tell(refused{Reason: r.Reason, Text: text, Next: forFolder(root, r.Next, a.folderToName())})
	return exitCode(r.Reason)
}

// refused is how an error is printed with --json.
type refused struct {
	Reason wire.Reason `json:"reason"`
	Text   string      `json:"text"`
	Next   string      `json:"next"`
}

// tell prints an error: its reason word, a sentence, the next step.
func (a *app) tell(r refused) {
	if a.jsonErrors {
		if b, err := wire.Marshal(r); err == nil {
			a.say("%s\n", b)
			return
		}
	}
	a.say("fleet: %s: %s\nnext: %s\n", r.Reason, r.Text, r.Next)
}

func exitCode(reason wire.Reason) int {
	switch reason {
	case wire.ReasonJournalFailed, wire.ReasonDiskFailed:
		return exitJournal
	case wire.ReasonJournalRewound, wire.ReasonJournalCorrupt, wire.ReasonJournalNewerFormat, wire.ReasonWrongHub:
		return exitStore
	case wire.ReasonWrongUsage:
		return exitUsage
	}
	return exitRefused
}

// say writes to standard error. When that is gone nobody is left to tell.
func (a *app) say(format string, args ...any) { _, _ = fmt.Fprintf(a.err, format, args...) }

// print writes one answer: as JSON with --json, else as text.
func (a *app) print(v any, text func(io.Writer) error) error {
	if !a.json {
		return text(a.out)
	}
	b, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(b, '\n'))
	return err
}

func closeAfter(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
