package node

import (
	"errors"
	"os"
	"path/filepath"
)

// Fail-points of writing fleet.yaml, in the order it passes them. The hook is called after each step; an error from it
// ends the writing there, with everything left as a crash would leave it.
const (
	PointSettingsCreated   = "settings_created"    // the new file exists under its temporary name, empty
	PointSettingsWritten   = "settings_written"    // written, not synced
	PointSettingsSynced    = "settings_synced"     // synced, not renamed
	PointSettingsRenamed   = "settings_renamed"    // it has its name
	PointSettingsDirSynced = "settings_dir_synced" // and that is synced
)

// Points returns every fail-point of the package, in order.
func Points() []string {
	return []string{PointSettingsCreated, PointSettingsWritten, PointSettingsSynced, PointSettingsRenamed, PointSettingsDirSynced}
}

// replaceConfig gives fleet.yaml a new text: a crash leaves the old settings, or none where there were none, or the new
// ones, and once it returns the new ones. The caller has the node's journal open, so nobody else does this.
func replaceConfig(dir, text string, hook func(point string) error) error {
	if hook == nil {
		hook = func(string) error { return nil }
	}
	path := filepath.Join(dir, ConfigFile)
	temp := path + ".new"
	if err := writeSynced(temp, text, hook); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	if err := hook(PointSettingsRenamed); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	return hook(PointSettingsDirSynced)
}

func writeSynced(path, text string, hook func(string) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := hook(PointSettingsCreated); err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := hook(PointSettingsWritten); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return hook(PointSettingsSynced)
}

// makeFolder makes a node's folder and those above it that are missing, and makes their names durable.
func makeFolder(dir string) error {
	above := []string{}
	for at := dir; ; {
		if _, err := os.Stat(at); err == nil {
			break
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		above, at = append(above, up), up
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, at := range above {
		if err := syncDir(at); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) (err error) {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}
