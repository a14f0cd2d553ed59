package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// InitOptions say what Init makes. Dir and Hub are required; empty addresses mean the first free default pair.
type InitOptions struct {
	Dir    string
	Hub    string
	Agents string
	Links  string
	Now    func() time.Time         // nil: time.Now
	Hook   func(point string) error // fail-points of the key file and the journal; nil: none
}

// Made is what Init made.
type Made struct {
	Dir    string `json:"dir"`
	Hub    string `json:"hub"`
	Pin    string `json:"pin"`
	Agents string `json:"agents"`
	Links  string `json:"links"`
}

// Init makes a node's folder: identity, settings, journal. The settings come last, so a folder with fleet.yaml is
// whole; what an interrupted Init left behind is taken up by the next one. A finished folder is refused with
// already_initialised.
func Init(o InitOptions) (Made, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if _, err := wire.ParseHubID(o.Hub); err != nil {
		return Made{}, badHubID(o.Hub)
	}
	if err := checkFolder(o.Dir); err != nil {
		return Made{}, err
	}
	if Initialised(o.Dir) {
		return Made{}, &Refusal{
			Reason: wire.ReasonAlreadyInitialised, Text: o.Dir + " already holds a node",
			Next: "fleet serve, or choose another --dir",
		}
	}
	if err := o.addresses(); err != nil {
		return Made{}, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return Made{}, denied(o.Dir)
		}
		return Made{}, &Refusal{Reason: wire.ReasonInvalidConfig, Text: "the folder cannot be made", Next: "choose another --dir", Err: err}
	}
	id, err := identity(o)
	if err != nil {
		return Made{}, Explain(err)
	}
	if err := makeJournal(o, id); err != nil {
		return Made{}, Explain(err)
	}
	if err := writeConfig(o.Dir, o.Hub, o.Agents, o.Links); err != nil {
		return Made{}, &Refusal{Reason: wire.ReasonInvalidConfig, Text: ConfigFile + " cannot be written", Next: "check the folder and its disk", Err: err}
	}
	return Made{Dir: o.Dir, Hub: o.Hub, Pin: id.Pin().String(), Agents: o.Agents, Links: o.Links}, nil
}

// Initialised says whether dir holds a finished node.
func Initialised(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ConfigFile))
	return err == nil
}

// addresses fills in what was not given and checks what was.
func (o *InitOptions) addresses() error {
	if o.Agents == "" || o.Links == "" {
		agents, links, err := FreePair()
		if err != nil {
			return err
		}
		if o.Agents == "" {
			o.Agents = agents
		}
		if o.Links == "" {
			o.Links = links
		}
	}
	for _, at := range []struct{ flag, addr string }{{"--agents", o.Agents}, {"--links", o.Links}} {
		if err := checkAddress(at.addr); err != nil {
			return &Refusal{Reason: wire.ReasonInvalidConfig, Text: fmt.Sprintf("%s: %v", at.flag, err), Next: "fleet init --help shows an example"}
		}
	}
	return nil
}

// identity makes the key, or takes the one that an interrupted Init left for the same hub. Init makes the key before
// the journal, so a journal without a key is one whose key was lost.
func identity(o InitOptions) (*certs.Identity, error) {
	if _, err := os.Stat(JournalDir(o.Dir)); err == nil {
		if _, err := certs.Load(o.Dir); errors.Is(err, certs.ErrMissing) {
			return nil, lostIdentity(o.Dir)
		}
	}
	id, err := certs.Create(o.Dir, o.Hub, o.Now(), o.Hook)
	if !errors.Is(err, certs.ErrExists) {
		return id, err
	}
	if id, err = certs.Load(o.Dir); err != nil {
		return nil, err
	}
	if id.HubID() != o.Hub {
		return nil, wrongHub(o.Dir, o.Hub, id.HubID())
	}
	return id, nil
}

// makeJournal opens the node once, which writes the journal's first events.
func makeJournal(o InitOptions, id *certs.Identity) error {
	n, err := open(Options{Dir: o.Dir, Now: o.Now, Hook: o.Hook}, Config{Hub: o.Hub, Agents: o.Agents, Links: o.Links}, id)
	if err != nil {
		return err
	}
	return n.Close()
}

// ProposeHubID makes a domain-shaped hub id of the machine's name.
func ProposeHubID() string {
	host, err := os.Hostname()
	host = strings.ToLower(host)
	if err != nil || host == "" {
		host = "hub"
	}
	if !strings.Contains(host, ".") {
		host += ".internal"
	}
	if _, err := wire.ParseHubID(host); err != nil {
		return "hub.internal"
	}
	return host
}

func badHubID(id string) error {
	return &Refusal{
		Reason: wire.ReasonInvalidHubID, Text: fmt.Sprintf("%q is no hub id: a letter or digit, then up to 63 letters, digits, dots, hyphens or underscores", id),
		Next: "fleet init --hub " + ProposeHubID(),
	}
}

func wrongHub(dir, want, is string) error {
	return &Refusal{
		Reason: wire.ReasonWrongHub, Text: fmt.Sprintf("%s belongs to hub %s, not to %s", dir, is, want),
		Next: "give the right --dir, or put `hub: " + is + "` back into " + ConfigFile,
	}
}
