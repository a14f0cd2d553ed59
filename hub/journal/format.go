package journal

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"fleetrelay/hub/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FORMAT is plain text, so that a person and any older build can read it:
//
//	fleet journal
//	format: 1
//	minimum-reader: 1
//	hub: acme.example
//	message: this folder was written by a newer fleet ...
//
// The format number rises only when an older reader could repeat, lose or wrongly end work. A build reads a folder
// whose minimum-reader is at most its own number; otherwise it prints the message and touches nothing.
const (
	formatName    = "FORMAT"
	formatTitle   = "fleet journal"
	formatCurrent = 1
	formatLimit   = 4096

	formatMessage = "this journal needs a newer fleet than the one that opened it: nothing was changed; start the newer build again, or restore a copy taken before the upgrade"
)

type format struct {
	number, minReader int
	hub, message      string
}

func (f format) String() string {
	return fmt.Sprintf("%s\nformat: %d\nminimum-reader: %d\nhub: %s\nmessage: %s\n", formatTitle, f.number, f.minReader, f.hub, f.message)
}

var errFormat = errors.New("FORMAT is damaged")

// parseFormat reads the whole text strictly, except that lines a newer format adds after the known ones are skipped.
func parseFormat(text string) (format, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 6 || lines[0] != formatTitle || lines[len(lines)-1] != "" {
		return format{}, errFormat
	}
	var f format
	var errs [4]error
	var number, reader string
	number, errs[0] = formatLine(lines[1], "format")
	reader, errs[1] = formatLine(lines[2], "minimum-reader")
	f.hub, errs[2] = formatLine(lines[3], "hub")
	f.message, errs[3] = formatLine(lines[4], "message")
	var bad [2]error
	f.number, bad[0] = strconv.Atoi(number)
	f.minReader, bad[1] = strconv.Atoi(reader)
	if errors.Join(errs[:]...) != nil || errors.Join(bad[:]...) != nil || f.minReader < 1 || f.number < f.minReader {
		return format{}, errFormat
	}
	if f.number == formatCurrent && f.String() != text {
		return format{}, errFormat
	}
	return f, nil
}

func formatLine(line, name string) (string, error) {
	value, ok := strings.CutPrefix(line, name+": ")
	if !ok || value == "" {
		return "", errFormat
	}
	return value, nil
}

// readFormat returns ok = false when there is no FORMAT.
func readFormat(fsys vfs.FS, path string) (f format, ok bool, err error) {
	text, err := readFile(fsys, path, formatLimit)
	if isNotExist(err) {
		return format{}, false, nil
	}
	if err != nil {
		return format{}, false, classify("read FORMAT", err)
	}
	f, err = parseFormat(string(text))
	if err != nil {
		return format{}, false, corrupt(Range{}, err)
	}
	return f, true, nil
}

// admit says whether this build may open a folder of this format for hub ("" = whatever hub it belongs to).
func (f format) admit(hub string) error {
	if f.minReader > formatCurrent {
		return &Error{
			Reason: wire.ReasonJournalNewerFormat, Next: f.message,
			Err: fmt.Errorf("journal format %d needs a reader of %d, this build reads %d", f.number, f.minReader, formatCurrent),
		}
	}
	if hub != "" && f.hub != hub {
		return &Error{
			Reason: wire.ReasonWrongHub, Next: "check --dir and the hub id: one folder belongs to one hub for ever",
			Err: fmt.Errorf("this journal belongs to hub %q, not to %q", f.hub, hub),
		}
	}
	return nil
}

func createFormat(fsys vfs.FS, dir, hub string, hook func(string) error) error {
	if err := hook(PointFormatWrite); err != nil {
		return err
	}
	f := format{formatCurrent, formatCurrent, hub, formatMessage}
	return writeFileAtomic(fsys, dir, formatName, []byte(f.String()), func() error { return hook(PointFormatRename) })
}

// writeFileAtomic makes dir/name appear whole and durable: temporary name, sync, rename, sync of the directory.
func writeFileAtomic(fsys vfs.FS, dir, name string, data []byte, beforeRename func() error) error {
	temp, path := fsys.PathJoin(dir, name+".new"), fsys.PathJoin(dir, name)
	f, err := fsys.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if beforeRename != nil {
		if err := beforeRename(); err != nil {
			return err
		}
	}
	if err := fsys.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	sync := d.Sync
	if own, ok := d.(guardDir); ok {
		sync = own.trySync
	}
	return errors.Join(sync(), d.Close())
}

func readFile(fsys vfs.FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
