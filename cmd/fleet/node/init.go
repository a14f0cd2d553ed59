package node

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fleetrelay/certs"
	"fleetrelay/hub/wire"
)

// InitOptions say what Init makes. Dir and Hub are required; empty addresses mean the first free default pair.
type InitOptions struct {
	Dir string
	Hub string
	Addresses
	Now  func() time.Time         // nil: time.Now
	Hook func(point string) error // fail-points of the key file, the journal and the settings; nil: none
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
// already_initialised, or with what it lacks: serving it would be refused for that.
func Init(o InitOptions) (Made, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := checkFolder(o.Dir); err != nil {
		return Made{}, err
	}
	if Initialised(o.Dir) {
		return Made{}, taken(o.Dir, o.Hub)
	}
	if _, err := wire.ParseHubID(o.Hub); err != nil {
		return Made{}, badHubID(o.Hub)
	}
	if err := o.addresses(); err != nil {
		return Made{}, err
	}
	if err := makeFolder(o.Dir); err != nil {
		if r := fileRefusal(o.Dir, err); r != nil {
			return Made{}, r
		}
		return Made{}, &Refusal{Reason: wire.ReasonInvalidConfig, Text: "the folder cannot be made", Next: Advice("choose another --dir"), Err: err}
	}
	id, err := identity(o)
	if err != nil {
		return Made{}, openError(o.Dir, err)
	}
	if err := finish(o, id); err != nil {
		return Made{}, alreadyRunning(o.Dir, openError(o.Dir, err))
	}
	return Made{Dir: o.Dir, Hub: o.Hub, Pin: id.Pin().String(), Agents: o.Agents, Links: o.Links}, nil
}

// Initialised says whether dir holds a finished node. A settings file that a crash cut short finishes none.
func Initialised(dir string) bool {
	path := filepath.Join(dir, ConfigFile)
	if _, err := os.Stat(path); err != nil {
		return false
	}
	text, err := os.ReadFile(path)
	return err != nil || !unfinished(dir, string(text))
}

// taken is the refusal for a folder with a finished node, which may have lost a part since, or be another hub's.
func taken(dir, hub string) error {
	cfg, _, err := LoadConfig(dir, nil, nil)
	if err != nil {
		return err
	}
	id, err := LoadIdentity(dir)
	if err = cmp.Or(err, checkJournal(dir)); err != nil {
		return err
	}
	if err := checkIdentity(dir, cfg.Hub, id, ""); err != nil {
		return err
	}
	if hub != "" && hub != cfg.Hub {
		return &Refusal{
			Reason: wire.ReasonWrongHub, Text: dir + " holds hub " + cfg.Hub + ", not " + hub,
			Next: Advice("make hub " + hub + " in another --dir; this one runs with fleet serve"),
		}
	}
	return alreadyInitialised(dir)
}

func alreadyInitialised(dir string) error {
	return &Refusal{
		Reason: wire.ReasonAlreadyInitialised, Text: dir + " already holds a node", Next: Command("serve"),
	}
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
	if err := checkAnnounce(o.Announce); err != nil {
		return &Refusal{Reason: wire.ReasonInvalidConfig, Text: fmt.Sprintf("--announce: %v", err), Next: Command("init", "--help")}
	}
	for _, at := range []struct{ flag, addr string }{{"--agents", o.Agents}, {"--links", o.Links}} {
		if err := checkAddress(at.addr); err != nil {
			return &Refusal{Reason: wire.ReasonInvalidConfig, Text: fmt.Sprintf("%s: %v", at.flag, err), Next: Command("init", "--help")}
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
		return nil, &Refusal{
			Reason: wire.ReasonWrongHub, Text: fmt.Sprintf("%s belongs to hub %s, not to %s", o.Dir, id.HubID(), o.Hub),
			Next: Advice("give the --dir of hub " + o.Hub + ", or finish this one with --hub " + id.HubID()),
		}
	}
	return id, nil
}

// finish opens the node once, which writes the journal's first events, and writes the settings while nobody else can:
// another Init may have come first.
func finish(o InitOptions, id *certs.Identity) error {
	n, err := open(Options{Dir: o.Dir, Now: o.Now, Hook: o.Hook}, Config{Hub: o.Hub, Agents: o.Agents, Links: o.Links, Announce: o.Announce}, id)
	if err != nil {
		return err
	}
	if Initialised(o.Dir) {
		return joinClose(alreadyInitialised(o.Dir), n.Close())
	}
	return joinClose(writeConfig(o.Dir, o.Hub, o.Addresses, o.Hook), n.Close())
}

// HubIDFor proposes the hub id of a node in dir: that of the identity an interrupted Init left, else ProposeHubID.
func HubIDFor(dir string) string {
	if id, err := certs.Load(dir); err == nil {
		return id.HubID()
	}
	return ProposeHubID()
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
		Next: Command("init", "--hub", ProposeHubID()),
	}
}

func wrongHub(dir, want, is string) error {
	return &Refusal{
		Reason: wire.ReasonWrongHub, Text: fmt.Sprintf("%s belongs to hub %s, not to %s", dir, is, want),
		Next: Advice("give the --dir of hub " + want + ", or put `hub: " + is + "` back into " + ConfigFile),
	}
}
