package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// writeFile puts a fleet.yaml into a new folder.
func configDir(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ConfigFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBadConfigs reads each file of the folder and finds in it what must be said: `# want REASON: text` and `# next step`.
func TestBadConfigs(t *testing.T) {
	files, err := filepath.Glob("../testdata/badconfig/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := configDir(t, string(text))
			_, _, err = LoadConfig(dir, nil, nil)
			if err == nil {
				t.Fatal("taken")
			}
			r := Explain(err)
			reason, part, _ := strings.Cut(mark(t, text, "# want "), ": ")
			if string(r.Reason) != reason || !strings.Contains(r.Text, part) || !strings.Contains(r.Text, filepath.Join(dir, ConfigFile)) {
				t.Errorf("got %s: %s", r.Reason, r.Text)
			}
			if next := mark(t, text, "# next "); !strings.HasPrefix(r.Next.String(), next) {
				t.Errorf("next is %q, want %q", r.Next, next)
			}
		})
	}
}

func mark(t *testing.T, text []byte, prefix string) string {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return rest
		}
	}
	t.Fatalf("no line %q", prefix)
	return ""
}

func TestConfigOrder(t *testing.T) {
	dir := configDir(t, "hub: hub.example\nagents: 127.0.0.1:1\nlinks: ':2'\nlimits: {sockets: 3, per_host: 4}\nagents_tls: {cert: a.pem, key: /b.pem}\n")
	environ := []string{"FLEET_LIMITS_SOCKETS=5", "FLEET_LINKS=:6", "FLEET_DIR=/x", "FLEET_PORT=7", "FLEET_LIMITS_REGISTRATION_TIMEOUT=2s", "FLEET_LOG_LEVEL=", "PATH=/bin"}
	got, strange, err := LoadConfig(dir, environ, map[string]any{"links": ":8"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Hub: "hub.example", Agents: "127.0.0.1:1", Links: ":8", AgentsTLS: TLSFiles{Cert: filepath.Join(dir, "a.pem"), Key: "/b.pem"},
		Limits: Limits{Sockets: 5, PerHost: 4, RegistrationTimeout: 2 * time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"FLEET_PORT"}, strange); diff != "" {
		t.Error(diff)
	}
}

func TestConfigDefaultsAndPointers(t *testing.T) {
	got, _, err := LoadConfig(configDir(t, "hub: hub.example\nlimits:\nprivate_directed: false\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Agents != DefaultAgents || got.Links != DefaultLinks || got.PrivateDirected == nil || *got.PrivateDirected {
		t.Errorf("got %+v", got)
	}
}

// TestFingerprint: equal settings have equal fingerprints, and every kind of setting changes it.
func TestFingerprint(t *testing.T) {
	load := func(text string) string {
		cfg, _, err := LoadConfig(configDir(t, "hub: hub.example\n"+text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return cfg.fingerprint()
	}
	seen := map[string]string{}
	for _, text := range []string{
		"", "private_directed: true\n", "private_directed: false\n", "limits: {sockets: 5}\n", "allowed_hosts: [a]\n", "log: {level: debug}\n",
	} {
		f := load(text)
		if other, taken := seen[f]; taken || f != load(text) || len(f) != 16 {
			t.Errorf("%q: %q, and %q has the same or it changes", text, f, other)
		}
		seen[f] = text
	}
}

// TestWrittenConfig reads back what init writes, also with every commented setting switched on.
func TestWrittenConfig(t *testing.T) {
	dir := t.TempDir()
	if err := writeConfig(dir, "0123", Addresses{Agents: "127.0.0.1:1", Links: ":2"}, nil); err != nil {
		t.Fatal(err)
	}
	got, _, err := LoadConfig(dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Config{Hub: "0123", Agents: "127.0.0.1:1", Links: ":2"}, got); diff != "" {
		t.Error(diff)
	}
	text, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	var on strings.Builder
	for line := range strings.Lines(string(text)) {
		rest, commented := strings.CutPrefix(line, "# ")
		if key, _, ok := strings.Cut(strings.TrimSpace(rest), ":"); commented && ok && (isSection(key) || strings.Contains(" "+strings.Join(keys, " ")+" ", " "+key+" ")) || strings.HasPrefix(rest, "  ") {
			line = rest
		}
		on.WriteString(line)
	}
	got, _, err = LoadConfig(configDir(t, on.String()), nil, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, on.String())
	}
	if got.Limits.Sockets != 16384 || got.Limits.RegistrationTimeout != 10*time.Second || got.Log.Level != "info" || len(got.AllowedHosts) != 1 {
		t.Errorf("got %+v from\n%s", got, on.String())
	}
}

func TestKeepAddresses(t *testing.T) {
	dir := configDir(t, "# top\nhub: h\nagents: old # why\n# links: x\n")
	if err := KeepAddresses(dir, Addresses{"127.0.0.1:9", ":10", []string{"relay.example:7", "[2001:db8::1]:7"}}, nil); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("# top\nhub: h\nagents: '127.0.0.1:9'\n# links: x\nlinks: ':10'\nannounce: ['relay.example:7', '[2001:db8::1]:7']\n", string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true, "LOCALHOST:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "localhost.example:1": false, "10.0.0.1:1": false, "nonsense": false,
	} {
		if loopback(addr) != want {
			t.Errorf("%s: %v", addr, !want)
		}
	}
}
