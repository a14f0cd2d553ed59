package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fleetrelay/certs"
	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// Explain makes a refusal of any error of a node: the reason its package gave, or internal_error. The sentence and
// the next step come from the error where it has better ones than the list of reasons.
func Explain(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		whole := *r
		return fill(&whole)
	}
	if e, ok := errors.AsType[*journal.Error](err); ok {
		return fill(&Refusal{Reason: e.Reason, Next: nextOf(e.Next), Err: causeOf(e)})
	}
	if e, ok := errors.AsType[*hub.Error](err); ok {
		return fill(&Refusal{Reason: e.Reason, Text: e.Text, Next: nextOf(e.Next)})
	}
	if e, ok := errors.AsType[*federation.Refusal](err); ok {
		return fill(&Refusal{Reason: e.Reason, Text: e.Text})
	}
	if e, ok := errors.AsType[*wire.FrameError](err); ok {
		return fill(&Refusal{Reason: e.Reason, Text: e.Text})
	}
	return fill(explainFiles(err))
}

// openError is Explain for a folder that could not be opened or made: a store that belongs to another user has not
// failed, and one on a full or read-only disk has written nothing yet.
func openError(dir string, err error) *Refusal {
	if _, told := errors.AsType[*Refusal](err); !told {
		if r := fileRefusal(dir, err); r != nil {
			return r
		}
	}
	return Explain(err)
}

// fileRefusal gives the reasons of errors by which a system refuses a file, nil for any other. dir is named where the
// error names no path.
func fileRefusal(dir string, err error) *Refusal {
	path := dir
	if e, ok := errors.AsType[*fs.PathError](err); ok && filepath.IsAbs(e.Path) {
		path = e.Path
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		path = e.New
	}
	if errors.Is(err, fs.ErrPermission) {
		return denied(path)
	}
	errno, _ := errors.AsType[syscall.Errno](err)
	next := ""
	switch errno {
	case syscall.ENOSPC:
		next = "make room on the disk of " + dir + ", then say it again"
	case syscall.EDQUOT:
		next = "make room within the quota for " + dir + ", then say it again"
	case syscall.EROFS:
		next = "mount the file system of " + dir + " writable, or choose another --dir"
	case syscall.EIO:
		next = "look for errors of the disk in the system's log, then say it again"
	default:
		return nil
	}
	return &Refusal{Reason: wire.ReasonDiskFailed, Text: path + " cannot be written: " + errno.Error(), Next: Advice(next)}
}

// explainFiles gives the reasons of errors that come from files and the end of a wait.
func explainFiles(err error) *Refusal {
	r := &Refusal{Reason: wire.ReasonInternalError, Err: err}
	_, named := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, fs.ErrPermission) && !named:
		r.Reason = wire.ReasonPermissionDenied
		r.Text = "user " + ProcessUser() + " may not open part of the node's folder"
	case fileRefusal("", err) != nil:
		return fileRefusal("the node's folder", err)
	case errors.Is(err, certs.ErrMissing), errors.Is(err, fs.ErrNotExist):
		r.Reason = wire.ReasonStoreMissing
		r.Text = "part of the node's folder is missing"
	case errors.Is(err, certs.ErrKeyTooOpen):
		r.Reason = wire.ReasonInvalidConfig
		r.Text = "others can read the node's key; make a new node if somebody may have done so"
		r.Next = Advice("let nobody but the node's user read identity/key.pem in its folder")
	case errors.Is(err, certs.ErrDamaged), errors.Is(err, certs.ErrHubID):
		r.Reason = wire.ReasonInvalidConfig
		r.Text, r.Next = "the node's identity cannot be used", Advice("restore the folder identity from a backup")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		r.Reason = wire.ReasonNotRunning
		r.Text, r.Next = "the node did not answer before the wait ended", Command("status")
	}
	return r
}

// fill adds what the list of reasons says where the error itself said nothing.
func fill(r *Refusal) *Refusal {
	info, _ := wire.Explain(r.Reason)
	r.Text = cmp.Or(r.Text, info.Meaning)
	r.Next = r.Next.or(Advice(info.Next))
	// What is printed goes on after a colon or ends the line; the list holds whole sentences; Advice does the same.
	r.Text = strings.TrimSuffix(r.Text, ".")
	return r
}

// causeOf is what is behind a journal error, with the range it names where there is one.
func causeOf(e *journal.Error) error {
	if e.Range == (journal.Range{}) {
		return e.Err
	}
	if e.Err == nil {
		return errors.New(e.Range.String())
	}
	return fmt.Errorf("%s: %w", e.Range, e.Err)
}
