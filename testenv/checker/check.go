package checker

import (
	"errors"
	"fmt"
	"io"
	"os"

	"fleetrelay/testenv/clientlog"
)

// Input is the evidence of one run.
type Input struct {
	ClientsDir  string   // holds one log per application (clientlog)
	Exports     []string // one file per node: the output of `fleet journal export`
	MinAccepted int      // fewer messages told accepted make the report incomplete: a run that did nothing proves nothing
}

// Check reads all evidence, each file once and line by line, and judges it. Evidence that cannot be read makes the
// report incomplete; it is never an error, since a run without evidence must not pass by accident.
func Check(in Input) *Report {
	r, f := newReport(), newFacts()
	files, err := clientlog.Files(in.ClientsDir)
	if err != nil || len(files) == 0 {
		r.incomplete("no client logs in %s", in.ClientsDir)
	}
	f.received = make([][]got, len(files))
	for number, path := range files {
		f.readLog(r, number, path)
	}
	for _, path := range in.Exports {
		f.readJournal(r, path)
	}
	f.judge(r)
	if r.Totals.Accepted < max(in.MinAccepted, 1) {
		r.incomplete("only %d messages were told accepted, %d were expected", r.Totals.Accepted, max(in.MinAccepted, 1))
	}
	return r
}

func (f *facts) readLog(r *Report, number int, path string) {
	err := withFile(path, func(in io.Reader) error {
		return clientlog.Read(in, func(_ int, e clientlog.Entry) error {
			f.record(r, number, e)
			return nil
		})
	})
	// A torn last line is what a killed driver leaves; the event it would have told of was not yet acted on.
	if err != nil && !errors.Is(err, clientlog.ErrTorn) {
		r.incomplete("client log: %v", err)
	}
}

func (f *facts) readJournal(r *Report, path string) {
	err := withFile(path, func(in io.Reader) error {
		j, err := readExport(r, in)
		if err != nil {
			return err
		}
		if f.journals[j.hub] != nil {
			return fmt.Errorf("a second export of hub %s", j.hub)
		}
		f.journals[j.hub] = j
		return nil
	})
	if err != nil {
		r.incomplete("journal export: %v", err)
	}
}

func withFile(path string, fn func(io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := fn(file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
