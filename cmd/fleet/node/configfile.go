package node

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// configText is the file init writes: every setting with its meaning, those with a default commented out.
const configText = `# Settings of this Fleet node. FLEET_* variables (FLEET_LIMITS_SOCKETS) and flags win over this file.
# Peers and agent tokens are not here: they are facts in the journal.

# This node's hub id; fixed when the folder was made.
hub: %s

# Agents connect here (WebSocket). Beyond loopback a token is needed: fleet agent token create.
agents: %s
# Other hubs connect here (QUIC over UDP). Only approved keys pass.
links: %s
# Where they reach it: what invitations name. Default: the address above, or this machine's if it is for all of them.
# announce: [relay.example.org:8877]

# TLS for agents: certificate chain and key, PEM.
# agents_tls: {cert: agents.crt, key: agents.key}
# Host headers taken beside the bind address, and browser origins that may connect.
# allowed_hosts: [hub.example.org]
# allowed_origins: []

# Send a directed message to its recipients only. Default: on once the node has a peer.
# private_directed: true

# limits:
#   sockets: 16384              # agents connected at once
#   per_host: 32                # of these from one remote host, loopback exempt
#   unauthenticated: 16384      # of these on a hub with tokens, without a name so far
#   frame_bytes: 1048576        # largest message; reference clients read no more
#   registration_timeout: 10s   # how long a socket may stay without a name

# log: {level: info, format: auto}   # debug info warn error; auto text json
`

// writeConfig makes fleet.yaml, or replaces what a crash left of it.
func writeConfig(dir, hub string, at Addresses, hook func(string) error) error {
	text := fmt.Sprintf(configText, yamlString(hub), yamlString(at.Agents), yamlString(at.Links))
	return replaceConfig(dir, keepLine(text, "announce", yamlList(at.Announce)), hook)
}

// unfinished says whether the text of a settings file is what a crash or a full disk left of the file that init
// writes: nothing, or its beginning without usable settings. Nobody's own settings are in such a text.
func unfinished(dir, text string) bool {
	if !cutShort(text) {
		return false
	}
	_, _, err := parseConfig(dir, []byte(text), nil, nil)
	return err != nil
}

// cutShort says whether text ends before the last setting that init writes. A file system may fill with zeros what
// never reached the disk.
func cutShort(text string) bool {
	written := len(text)
	text = strings.TrimRight(text, "\x00")
	zeros := len(text) < written
	if strings.TrimSpace(text) == "" {
		return true
	}
	parts := strings.Split(configText, "%s")
	for _, part := range parts[:len(parts)-1] {
		if strings.HasPrefix(part, text) {
			return true
		}
		rest, same := strings.CutPrefix(text, part)
		value := strings.IndexByte(rest, '\n')
		if !same || value < 0 {
			return same
		}
		text = rest[value:]
	}
	return zeros && strings.HasPrefix(parts[len(parts)-1], text)
}

// yamlString quotes for YAML; a leading colon as in ":8877" and a hub id of digits would not stay text otherwise.
func yamlString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// yamlList is a list of texts on one line, "" if there are none.
func yamlList(all []string) string {
	if len(all) == 0 {
		return ""
	}
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = yamlString(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Addresses are the listeners' addresses as init, up and serve are given them; what is empty was not given.
type Addresses struct {
	Agents, Links string
	Announce      []string
}

// IsZero says that none was given.
func (a Addresses) IsZero() bool { return a.Agents == "" && a.Links == "" && len(a.Announce) == 0 }

// Overrides are the addresses that were given, by key, as Options take them.
func (a Addresses) Overrides() map[string]any {
	given := map[string]any{}
	for key, value := range map[string]string{"agents": a.Agents, "links": a.Links} {
		if value != "" {
			given[key] = value
		}
	}
	if len(a.Announce) > 0 {
		given["announce"] = a.Announce
	}
	return given
}

// KeepAddresses writes the listeners' addresses given on the command line into fleet.yaml, leaving every other
// line and comment as it is. Empty addresses change nothing. A file in which that cannot be done by a line is refused
// with invalid_config and stays as it is. hook, which may be nil, is called at every one of Points.
func KeepAddresses(dir string, at Addresses, hook func(point string) error) error {
	old, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		return err
	}
	text, err := keep(dir, string(old), at)
	if err != nil || text == string(old) {
		return err
	}
	return replaceConfig(dir, text, hook)
}

// keep puts the addresses into the text of a settings file. The text may be laid out in a way that a line changes more
// than was meant, or nothing, so the result is read again.
func keep(dir, old string, at Addresses) (string, error) {
	want, _, err := parseConfig(dir, []byte(old), nil, at.Overrides())
	if err != nil {
		return "", err
	}
	text := old
	for _, given := range [][2]string{{"agents", yamlScalar(at.Agents)}, {"links", yamlScalar(at.Links)}, {"announce", yamlList(at.Announce)}} {
		text = keepLine(text, given[0], given[1])
	}
	if got, _, err := parseConfig(dir, []byte(text), nil, nil); err != nil || !reflect.DeepEqual(got, want) {
		return "", invalid(filepath.Join(dir, ConfigFile), "the addresses do not fit in by a line of their own", err)
	}
	return text, nil
}

// yamlScalar is yamlString, and "" for what was not given.
func yamlScalar(s string) string {
	if s == "" {
		return ""
	}
	return yamlString(s)
}

// keepLine sets one key to a value, which is YAML; "" changes nothing.
func keepLine(text, key, value string) string {
	if value == "" {
		return text
	}
	line := key + ": " + value
	at := regexp.MustCompile(`(?m)^` + key + `:.*$`)
	if at.MatchString(text) {
		return at.ReplaceAllLiteralString(text, line)
	}
	return strings.TrimRight(text, "\n") + "\n" + line + "\n"
}
