package player

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"fleetrelay/hub/wire"
)

// Hub is what a scenario needs of the hub it is played against. Zero values are the product's defaults. The hub's id is
// "hub-1", its journal is empty, and it has no peer.
type Hub struct {
	MaxSockets      int
	PerHost         int // counts loopback as well
	Unauthenticated int
	// TokenFor names the seat that needs a token: a secured hub.
	TokenFor            string
	RegistrationTimeout time.Duration
}

// Scenario is one file with the hubs it is played against.
type Scenario struct {
	Name    string
	Entries []Entry
	Start   Hub
	// Again holds, by connection label, the hub that replaces the running one before that connection is dialled.
	Again map[string]Hub
	// Silent names connections before which another one is opened that never says anything.
	Silent map[string]bool
}

// Entry is one line of a file.
type Entry struct {
	Dir   string   `json:"dir"`
	Conn  string   `json:"conn"`
	Frame wire.Raw `json:"frame"`
	Raw   string   `json:"raw"`
	Close *Close   `json:"close"`
	Note  string   `json:"note"`
}

// Close is the end of one socket.
type Close struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}

// Directions of entries.
const (
	toHub    = "c2h"
	toClient = "h2c"
)

// noteSIGTERM is the note at which the hub is asked to end.
const noteSIGTERM = "the hub gets SIGTERM"

// anyText stands for a sentence of the hub's own.
const anyText = "<text>"

//go:embed testdata/core-v2/*.json
var captured embed.FS

const capturedDir = "testdata/core-v2"

// shortTimeout is the registration timeout of the files that wait for it to run out. In those files other connections
// must register before it does, on a machine that may be busy.
const shortTimeout = time.Second

// hubs holds what a file needs beyond a default hub.
var hubs = map[string]Scenario{
	"session-secured":                   {Start: Hub{TokenFor: "agent-a", RegistrationTimeout: shortTimeout}},
	"session-open-first-frame-failures": {Start: Hub{RegistrationTimeout: shortTimeout}},
	"capacity-closes": {
		Start:  Hub{MaxSockets: 1},
		Again:  map[string]Hub{"agent-c": {PerHost: 1}, "agent-f": {Unauthenticated: 1, TokenFor: "agent-e"}},
		Silent: map[string]bool{"agent-f": true},
	},
}

// Captured lists the scenarios of core wire version 2 that this product plays.
func Captured() ([]Scenario, error) {
	files, err := fs.Glob(captured, capturedDir+"/*.json")
	if err != nil {
		return nil, err
	}
	var all []Scenario
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, capturedDir+"/"), ".json")
		text, err := captured.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s := hubs[name]
		s.Name = name
		if s.Entries, err = ParseEntries(text); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// ParseEntries reads a scenario file and refuses entries that say nothing or too much.
func ParseEntries(text []byte) ([]Entry, error) {
	var entries []Entry
	if err := wire.Unmarshal(text, &entries); err != nil {
		return nil, err
	}
	for i := range entries {
		if err := entries[i].check(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return entries, nil
}

func (e *Entry) check() error {
	said := 0
	for _, has := range []bool{len(e.Frame) > 0, e.Raw != "", e.Close != nil} {
		if has {
			said++
		}
	}
	switch {
	case e.Note != "" && said == 0 && e.Dir == "" && e.Conn == "":
		return nil
	case e.Note != "" || said != 1 || e.Conn == "":
		return fmt.Errorf("want one note, or one frame, raw text or close of one connection")
	case e.Dir != toHub && e.Dir != toClient:
		return fmt.Errorf("unknown direction %q", e.Dir)
	case e.Dir == toClient && e.Raw != "":
		return fmt.Errorf("raw text of a hub cannot be expected")
	}
	return nil
}
