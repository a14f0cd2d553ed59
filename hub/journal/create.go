package journal

import (
	"errors"
	"fmt"
	"strings"
)

// storeNew is the name of Pebble's folder until it is whole: Pebble's own creation does not survive every crash.
const storeNew = "store.new"

// makeDir makes the folder and, before it is used, its name durable in the folders above.
func (s *Store) makeDir() error {
	parents := []string{s.fs.PathDir(s.dir)}
	for dir := parents[0]; ; {
		_, err := s.fs.Stat(dir)
		if err == nil {
			break
		}
		up := s.fs.PathDir(dir)
		if !isNotExist(err) || up == dir {
			return err
		}
		parents = append(parents, up)
		dir = up
	}
	if err := s.fs.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	for _, dir := range parents {
		if err := syncDir(s.fs, dir); err != nil {
			return err
		}
	}
	return nil
}

// create makes store, HEAD and FORMAT, in this order. A crash in between leaves no FORMAT, and the next Open begins
// again; nothing can be lost, since no batch was ever applied.
func (s *Store) create() error {
	if s.hub == "" || strings.ContainsAny(s.hub, "\n\x00") {
		return fmt.Errorf("a journal needs a hub id, got %q", s.hub)
	}
	if err := s.mustBeUnused(); err != nil {
		return err
	}
	if err := s.createStore(); err != nil {
		return err
	}
	if err := s.opts.Hook(PointHeadCreate); err != nil {
		return err
	}
	if err := createHead(s.fs, s.dir, slot{chain: genesis(s.hub)}); err != nil {
		return err
	}
	return createFormat(s.fs, s.dir, s.hub, s.opts.Hook)
}

// mustBeUnused refuses to take a folder for new that has lost its FORMAT: HEAD or the store knows of an event.
func (s *Store) mustBeUnused() error {
	lost := corrupt(Range{}, errors.New("FORMAT is missing beside a journal that was in use"))
	newest, _, _, err := readHead(s.fs, s.path(headName))
	switch {
	case errors.Is(err, errHeadDamaged) || (err == nil && newest.seq > 0):
		return lost
	case err != nil && !isNotExist(err):
		return err
	}
	if _, err := s.fs.Stat(s.path(storeDir)); err != nil {
		if isNotExist(err) {
			return nil
		}
		return err
	}
	if s.db, err = s.openPebble(storeDir); err != nil {
		return err
	}
	key, _, err := s.lastIn(tableEvent)
	err = errors.Join(err, s.db.Close())
	s.db = nil
	if err == nil && key != nil {
		return lost
	}
	return err
}

// createStore lets Pebble make its folder under another name and moves it into place.
func (s *Store) createStore() error {
	if err := s.opts.Hook(PointStoreCreate); err != nil {
		return err
	}
	if err := s.fs.RemoveAll(s.path(storeNew)); err != nil && !isNotExist(err) {
		return err
	}
	db, err := s.openPebble(storeNew)
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := s.opts.Hook(PointStoreRename); err != nil {
		return err
	}
	if err := s.fs.RemoveAll(s.path(storeDir)); err != nil && !isNotExist(err) {
		return err
	}
	if err := s.fs.Rename(s.path(storeNew), s.path(storeDir)); err != nil {
		return err
	}
	return syncDir(s.fs, s.dir)
}
