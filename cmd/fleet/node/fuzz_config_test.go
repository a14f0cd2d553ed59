package node

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/viper"

	"fleetrelay/hub/wire"
)

// settingsReader reads the text of a settings file, settingsKeeper puts an address into one; or with a planted bug.
type (
	settingsReader func(text []byte) (Config, error)
	settingsKeeper func(text, agents string) (string, error)
)

func readSettings(text []byte) (Config, error) {
	cfg, _, err := parseConfig("/node", text, nil, nil)
	return cfg, err
}

func keepAgents(text, agents string) (string, error) {
	return keep("/node", text, Addresses{Agents: agents})
}

// settingsFault holds that a settings file is refused with a reason and a next step, or that each of its keys is one that
// the node knows and the settings mean the same when they are written out.
func settingsFault(text []byte, read settingsReader) string {
	cfg, err := read(text)
	if err != nil {
		var r *Refusal
		if !errors.As(err, &r) || r.Reason != wire.ReasonInvalidConfig && r.Reason != wire.ReasonUnknownConfigKey || r.Text == "" || r.Next == (Next{}) {
			return fmt.Sprintf("%.200q refused with %v", text, err)
		}
		return ""
	}
	for _, key := range keysIn(text) {
		if !slices.Contains(keys, key) && !isSection(key) {
			return fmt.Sprintf("%.200q has the unknown key %q", text, key)
		}
	}
	out := settingsText(cfg)
	if !utf8.ValidString(out) {
		return "" // bytes given in another notation, which text cannot hold
	}
	if again, err := read([]byte(out)); err != nil || !reflect.DeepEqual(cfg, again) {
		return fmt.Sprintf("%.200q means %+v, written out %+v, %v", text, cfg, again, err)
	}
	return ""
}

// keysIn lists the keys of a YAML text, those of sections with their section.
func keysIn(text []byte) (found []string) {
	raw := map[string]any{}
	yaml, err := viper.NewCodecRegistry().Decoder("yaml")
	if err == nil {
		err = yaml.Decode(text, raw)
	}
	if err != nil {
		return []string{"(no YAML)"}
	}
	for key, value := range raw {
		section, ok := value.(map[string]any)
		if !ok {
			found = append(found, key)
		}
		for inner := range section {
			found = append(found, key+"."+inner)
		}
	}
	return found
}

// settingsText writes settings as a person would.
func settingsText(c Config) string {
	var b strings.Builder
	quoted := func(s string) string { return string(wire.AppendString(nil, s)) }
	list := func(all []string) string {
		var parts []string
		for _, s := range all {
			parts = append(parts, quoted(s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	fmt.Fprintf(&b, "hub: %s\nagents: %s\nlinks: %s\n", quoted(c.Hub), quoted(c.Agents), quoted(c.Links))
	fmt.Fprintf(&b, "agents_tls: {cert: %s, key: %s}\n", quoted(c.AgentsTLS.Cert), quoted(c.AgentsTLS.Key))
	if c.Announce != nil {
		fmt.Fprintf(&b, "announce: %s\n", list(c.Announce))
	}
	if c.AllowedHosts != nil {
		fmt.Fprintf(&b, "allowed_hosts: %s\n", list(c.AllowedHosts))
	}
	if c.AllowedOrigins != nil {
		fmt.Fprintf(&b, "allowed_origins: %s\n", list(c.AllowedOrigins))
	}
	if c.PrivateDirected != nil {
		fmt.Fprintf(&b, "private_directed: %s\n", strconv.FormatBool(*c.PrivateDirected))
	}
	l := c.Limits
	fmt.Fprintf(&b, "limits: {sockets: %d, per_host: %d, unauthenticated: %d, frame_bytes: %d, registration_timeout: %s}\n",
		l.Sockets, l.PerHost, l.Unauthenticated, l.FrameBytes, l.RegistrationTimeout)
	fmt.Fprintf(&b, "log: {level: %s, format: %s}\n", quoted(c.Log.Level), quoted(c.Log.Format))
	return b.String()
}

// keepFault holds that an address is put into a file in which it then stands, with everything else as it was, or that the
// file is refused.
func keepFault(text, agents string, put settingsKeeper) string {
	before, err := readSettings([]byte(text))
	if err != nil {
		return ""
	}
	kept, err := put(text, agents)
	if err != nil {
		return ""
	}
	after, err := readSettings([]byte(kept))
	if agents != "" {
		before.Agents = agents
	}
	if err != nil || !reflect.DeepEqual(before, after) {
		return fmt.Sprintf("%.200q with agents %q is %.200q, which means %+v, %v", text, agents, kept, after, err)
	}
	return ""
}

func settingsSeeds() []string {
	return []string{
		"hub: hub.example\n",
		"hub: hub.example\nagents: 127.0.0.1:1\nlinks: ':2'\nlimits: {sockets: 3, per_host: 4, registration_timeout: 2s}\nagents_tls: {cert: a.pem, key: /b.pem}\n",
		"hub: h\nallowed_hosts: [a, b]\nallowed_origins: []\nprivate_directed: false\nlog: {level: info, format: json}\n",
		"hub: h\nannounce: [a.example:1, '[::1]:2']\n", "hub: h\nannounce: a:0\n", "{hub: h}", "hub: h\n...\n", "hub: h\nagents:\n  127.0.0.1:1\n", "hub: h\nagents: &a 127.0.0.1:1\nlinks: *a\n",
		"hub: h\nlimits:\n", "hub: h\nLimits: {}\n", "hub: h\nlimits: {socket: 1}\n", "hub: h\nhub: i\n", "hub: [h]\n", "- hub\n", "hub: h\nlimits: 5\n",
		"hub: h\nlimits: {sockets: 1.5}\n", "hub: h\nlimits: {sockets: '5'}\n", "hub: 0123\n", "hub: !!binary gIGC\n", "\x00", "hub: h\n\tx: y\n",
		"hub: h\nagents: |\n  127.0.0.1:1\n", "hub: h\nallowed_hosts: x\n", "hub: h\nlog: {level: INFO}\n", "hub: h # agents: x\n", "hub: h\n'agents': 127.0.0.1:1\n",
	}
}

func FuzzSettings(f *testing.F) {
	for _, text := range settingsSeeds() {
		f.Add(text, "127.0.0.1:9")
	}
	f.Add("hub: h\n", "[::1]:8")
	f.Add("hub: h\n", "a'b\nlinks: :3")
	f.Fuzz(func(t *testing.T, text, agents string) {
		if fault := settingsFault([]byte(text), readSettings) + keepFault(text, agents, keepAgents); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The bodies above find planted bugs among their own seeds, and nothing in what ships.
func TestSettingsFuzzBodiesFindPlantedBugs(t *testing.T) {
	overText := func(read settingsReader) (faults string) {
		for _, text := range settingsSeeds() {
			faults += settingsFault([]byte(text), read)
		}
		return faults
	}
	overKeep := func(put settingsKeeper) (faults string) {
		for _, text := range settingsSeeds() {
			faults += keepFault(text, "127.0.0.1:9", put)
		}
		return faults
	}
	if faults := overText(readSettings) + overKeep(keepAgents); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	lax := func(text []byte) (Config, error) { // viper as it comes
		v, cfg := viper.New(), Config{Agents: DefaultAgents, Links: DefaultLinks}
		v.SetConfigType("yaml")
		if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
			return cfg, invalid("x", "it is not YAML", err)
		}
		if err := v.Unmarshal(&cfg); err != nil {
			return cfg, invalid("x", "it does not fit", err)
		}
		return cfg, nil
	}
	bare := func(text []byte) (Config, error) {
		cfg, err := readSettings(text)
		if r := (*Refusal)(nil); errors.As(err, &r) {
			r.Next = Next{}
		}
		return cfg, err
	}
	for name, read := range map[string]settingsReader{"unknown keys pass": lax, "no next step": bare} {
		if overText(read) == "" {
			t.Errorf("%s: not found", name)
		}
	}
	unread := func(text, agents string) (string, error) { return keepLine(text, "agents", yamlScalar(agents)), nil }
	if overKeep(unread) == "" {
		t.Error("a line without another look: not found")
	}
}
