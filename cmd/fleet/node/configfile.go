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

// writeConfig makes fleet.yaml; it must not exist yet.
func writeConfig(dir, hub, agents, links string) error {
	f, err := os.OpenFile(filepath.Join(dir, ConfigFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, configText, yamlString(hub), yamlString(agents), yamlString(links)); err != nil {
		return fmt.Errorf("%w (and closing it: %v)", err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("%w (and closing it: %v)", err, f.Close())
	}
	return f.Close()
}

// yamlString quotes for YAML; a leading colon as in ":8877" and a hub id of digits would not stay text otherwise.
func yamlString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// KeepAddresses writes the listeners' addresses given on the command line into fleet.yaml, leaving every other
// line and comment as it is. Empty addresses change nothing. A file in which that cannot be done by a line is refused
// with invalid_config and stays as it is.
func KeepAddresses(dir, agents, links string) error {
	path := filepath.Join(dir, ConfigFile)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := keep(dir, string(old), agents, links)
	if err != nil || text == string(old) {
		return err
	}
	// A new file and a rename: a crash leaves the old settings or the new ones.
	temp := path + ".new"
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// keep puts the addresses into the text of a settings file. The text may be laid out in a way that a line changes more
// than was meant, or nothing, so the result is read again.
func keep(dir, old, agents, links string) (string, error) {
	given := map[string]any{}
	for key, value := range map[string]string{"agents": agents, "links": links} {
		if value != "" {
			given[key] = value
		}
	}
	want, _, err := parseConfig(dir, []byte(old), nil, given)
	if err != nil {
		return "", err
	}
	text := keepLine(keepLine(old, "agents", agents), "links", links)
	if got, _, err := parseConfig(dir, []byte(text), nil, nil); err != nil || !reflect.DeepEqual(got, want) {
		return "", invalid(filepath.Join(dir, ConfigFile), "the addresses do not fit in by a line of their own", err)
	}
	return text, nil
}

func keepLine(text, key, value string) string {
	if value == "" {
		return text
	}
	line := key + ": " + yamlString(value)
	at := regexp.MustCompile(`(?m)^` + key + `:.*$`)
	if at.MatchString(text) {
		return at.ReplaceAllLiteralString(text, line)
	}
	return strings.TrimRight(text, "\n") + "\n" + line + "\n"
}
