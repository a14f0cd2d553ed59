package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fleetrelay/certs"
	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// identityDir is where a node's folder keeps its key.
const identityDir = "identity"

// noNode is the refusal for a folder without a whole fleet.yaml: what is there decides what helps.
func noNode(dir string) error {
	if err := checkFolder(dir); err != nil {
		return err
	}
	reason, text := wire.ReasonStoreMissing, ConfigFile+" is missing from "+dir
	if _, err := os.Stat(filepath.Join(dir, ConfigFile)); err == nil {
		reason, text = wire.ReasonInvalidConfig, filepath.Join(dir, ConfigFile)+" is empty or cut short: its writing was interrupted, or the disk was full"
	}
	_, jerr := os.Stat(JournalDir(dir))
	id, err := certs.Load(dir)
	switch {
	case err == nil && jerr == nil:
		return &Refusal{
			Reason: reason, Text: fmt.Sprintf("%s; the identity of hub %s and the journal are there", text, id.HubID()),
			Next: Command("init", "--hub", id.HubID()), // keeps the key, the pin and the journal
		}
	case err == nil:
		return &Refusal{
			Reason: reason, Text: fmt.Sprintf("%s; of the node only the identity of hub %s is there: init was interrupted, or, if it ever served, a backup has to be restored", text, id.HubID()),
			Next: Command("init", "--hub", id.HubID()), // keeps the key and the pin
		}
	case jerr == nil:
		return lostIdentity(dir)
	case reason == wire.ReasonInvalidConfig:
		return &Refusal{Reason: reason, Text: text, Next: Command("init", "--hub", "ID")}
	}
	return &Refusal{Reason: wire.ReasonStoreMissing, Text: "there is no node in " + dir, Next: Command("init", "--hub", "ID")}
}

// lostIdentity is the refusal for a folder with a journal and no key. A new key beside the old journal would be a
// node that its peers refuse, so none is made.
func lostIdentity(dir string) error {
	return &Refusal{
		Reason: wire.ReasonIdentityMissing,
		Text:   fmt.Sprintf("%s is missing: the key by which this hub's peers know it is lost", filepath.Join(dir, identityDir)),
		Next: Advice("restore " + identityDir + "/ of this folder from a backup; without one make a new node in another folder, which every peer must approve, " +
			"and keep this one for its journal"),
	}
}

// checkJournal refuses an initialised folder whose journal is gone.
func checkJournal(dir string) error {
	if _, err := os.Stat(JournalDir(dir)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &Refusal{
		Reason: wire.ReasonStoreMissing, Text: JournalDir(dir) + " is missing, and with it everything this node knew and promised",
		Next: Advice("restore it from a backup; a new node needs another folder: its peers refuse this key with an empty journal"),
	}
}

// checkFolder refuses what exists and is no folder, or may not be looked into.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return denied(dir)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !info.IsDir():
		return &Refusal{Reason: wire.ReasonInvalidConfig, Text: dir + " is a file, not a folder", Next: Advice("choose another --dir")}
	case err != nil:
		return &Refusal{Reason: wire.ReasonInvalidConfig, Text: dir + " cannot be used as a folder", Next: Advice("choose another --dir")}
	}
	return nil
}

// folderBytes is the length of all files below dir. Files that come and go meanwhile, or cannot be looked at, do not
// count.
func folderBytes(dir string) (total uint64) {
	// The function below passes over every error.
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			total += uint64(max(info.Size(), 0))
		}
		return nil
	})
	return total
}

// denied is the refusal for a path of a node that belongs to somebody else.
func denied(path string) *Refusal {
	owner := ownerOf(path)
	if owner == ProcessUser() {
		at := existing(path)
		return &Refusal{
			Reason: wire.ReasonPermissionDenied, Text: fmt.Sprintf("%s may not be read or written, though it belongs to this user, %s: the mode of %s forbids it", path, owner, at),
			Next: Chmod("u+rwX", at),
		}
	}
	next := "run the command as the user whose node it is"
	if owner != "" {
		next = "run the command as " + owner
	}
	return &Refusal{
		Reason: wire.ReasonPermissionDenied, Text: fmt.Sprintf("user %s may not open %s, which belongs to %s", ProcessUser(), path, cmp.Or(owner, "another user")),
		Next: Advice(next),
	}
}

// existing is the path, or the nearest folder above it that can be looked at.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// LoadIdentity loads the key of an initialised folder. The errors are *Refusal.
func LoadIdentity(dir string) (*certs.Identity, error) {
	id, err := certs.Load(dir)
	switch {
	case errors.Is(err, certs.ErrMissing):
		return nil, lostIdentity(dir)
	case errors.Is(err, fs.ErrPermission):
		return nil, denied(filepath.Join(dir, identityDir))
	case errors.Is(err, certs.ErrKeyTooOpen):
		r := Explain(err)
		r.Next = Chmod("600", filepath.Join(dir, identityDir, "key.pem"))
		return nil, r
	case err != nil:
		return nil, Explain(err)
	}
	return id, nil
}

// checkIdentity holds the key against the settings and the journal, and names the one of the three that differs. If the
// settings' hub id came from a variable, that is named in their place.
func checkIdentity(dir, hub string, id *certs.Identity, variable string) error {
	if id.HubID() == hub {
		return nil
	}
	if variable != "" {
		return &Refusal{
			Reason: wire.ReasonWrongHub, Text: fmt.Sprintf("the variable %s says hub %s, and %s belongs to hub %s", variable, hub, dir, id.HubID()),
			Next: Advice("unset " + variable + ", or give the --dir of hub " + hub),
		}
	}
	store, err := openStore(dir, journal.Options{HubID: hub, ReadOnly: true})
	if err != nil {
		return wrongHub(dir, hub, id.HubID())
	}
	return joinClose(&Refusal{
		Reason: wire.ReasonWrongHub,
		Text:   fmt.Sprintf("the identity in %s is that of hub %s, while its journal and %s are those of hub %s", dir, id.HubID(), ConfigFile, hub),
		Next:   Advice("put the identity of hub " + hub + " back from a backup, or give the --dir of hub " + id.HubID()),
	}, store.Close())
}
