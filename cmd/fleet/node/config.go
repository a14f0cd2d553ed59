package node

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/viper"

	"fleetrelay/hub/wire"
)

// ConfigFile is the name of the settings file in a node's folder.
const ConfigFile = "fleet.yaml"

// Defaults of the two listeners. Public clients look for their hub on the first.
const (
	DefaultAgents = "127.0.0.1:8876"
	DefaultLinks  = ":8877"
)

// Config is what fleet.yaml, FLEET_* variables and flags may say; flags win over variables, variables over the
// file. Zero means the default. Keys that are not listed here are errors.
type Config struct {
	// Hub is this node's hub id. It is fixed when the folder is made and repeated here so that a folder moved or
	// mixed up is noticed.
	Hub string `mapstructure:"hub"`
	// Agents is the TCP address agents connect to; default 127.0.0.1:8876. Anything but loopback needs an agent
	// token first, and should have agents_tls.
	Agents string `mapstructure:"agents"`
	// Links is the UDP address other hubs connect to; default :8877, all interfaces. Only approved keys pass.
	Links string `mapstructure:"links"`
	// Announce is where other hubs reach Links, HOST:PORT, at most 8: what an invitation names. Default: the address in
	// Links, or this machine's addresses if Links is for all of them.
	Announce []string `mapstructure:"announce"`
	// AgentsTLS makes the agents' listener wss://. Both files or none.
	AgentsTLS TLSFiles `mapstructure:"agents_tls"`
	// AllowedHosts are Host headers taken beside the bind address, for agents that connect by another name.
	AllowedHosts []string `mapstructure:"allowed_hosts"`
	// AllowedOrigins are browser origins that may connect; empty means no browser may.
	AllowedOrigins []string `mapstructure:"allowed_origins"`
	// PrivateDirected sends a directed message only to its recipients. Unset: on once the node has a peer.
	PrivateDirected *bool  `mapstructure:"private_directed"`
	Limits          Limits `mapstructure:"limits"`
	Log             Log    `mapstructure:"log"`
}

// TLSFiles name a PEM certificate chain and its key, relative to the node's folder or absolute.
type TLSFiles struct {
	Cert string `mapstructure:"cert"`
	Key  string `mapstructure:"key"`
}

// Limits bound what agents may take. Zero means the default.
type Limits struct {
	// Sockets is how many agents may be connected; default 16384.
	Sockets int `mapstructure:"sockets"`
	// PerHost is how many of them from one remote host, loopback exempt; default 32.
	PerHost int `mapstructure:"per_host"`
	// Unauthenticated is how many agents of a hub with tokens may be connected without a name; default Sockets.
	Unauthenticated int `mapstructure:"unauthenticated"`
	// FrameBytes is the largest message an agent may send; default 1 MiB. Reference clients read no more.
	FrameBytes int `mapstructure:"frame_bytes"`
	// RegistrationTimeout is how long a socket may stay without a name; default 10s.
	RegistrationTimeout time.Duration `mapstructure:"registration_timeout"`
}

// Log says what goes to standard error.
type Log struct {
	// Level is debug, info, warn or error; default info.
	Level string `mapstructure:"level"`
	// Format is auto, text or json; auto is coloured text on a terminal and plain text otherwise.
	Format string `mapstructure:"format"`
}

// envPrefix and envOther: FLEET_LIMITS_SOCKETS sets limits.sockets; FLEET_DIR is the command line's own.
const envPrefix, envDir = "FLEET_", "FLEET_DIR"

// LoadConfig reads the folder's fleet.yaml, then FLEET_* variables of environ, then overrides (flags, by key).
// Variables that name no setting are returned: they may belong to somebody else (a cluster sets its own
// FLEET_… for a service of that name), so they are worth a warning and no more.
func LoadConfig(dir string, environ []string, overrides map[string]any) (Config, []string, error) {
	text, err := readFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		return Config{}, nil, err
	}
	if unfinished(dir, string(text)) {
		return Config{}, nil, noNode(dir)
	}
	return parseConfig(dir, text, environ, overrides)
}

// parseConfig is LoadConfig with the text of the folder's file.
func parseConfig(dir string, text []byte, environ []string, overrides map[string]any) (Config, []string, error) {
	v := viper.New()
	path := filepath.Join(dir, ConfigFile)
	if err := parseFile(v, path, text); err != nil {
		return Config{}, nil, err
	}
	from := sources{}
	strange := applyEnv(v, environ, from)
	for key, value := range overrides {
		v.Set(key, value)
		from[key] = "--" + key
	}
	if err := from.checkKinds(v, path); err != nil {
		return Config{}, nil, err
	}
	cfg := Config{Agents: DefaultAgents, Links: DefaultLinks}
	if err := v.UnmarshalExact(&cfg); err != nil {
		return Config{}, nil, invalid(path, "it does not fit its settings' types", err)
	}
	return cfg, strange, cfg.validate(dir, func(key, text string, args ...any) error { return from.invalid(path, key, text, args...) })
}

// fingerprint tells agents and operators whether two nodes, or one before and after a restart, run with the same
// settings. It is a hash: a who_snapshot shows it to everybody.
func (c Config) fingerprint() string {
	private := "unset"
	if c.PrivateDirected != nil {
		private = strconv.FormatBool(*c.PrivateDirected)
	}
	c.PrivateDirected = nil // an address would differ at every start
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %s", c, private))
	return hex.EncodeToString(sum[:8])
}

func readFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, noNode(filepath.Dir(path))
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, denied(path)
	}
	if err != nil {
		return nil, invalid(path, "it cannot be read", err)
	}
	return text, nil
}

func parseFile(v *viper.Viper, path string, text []byte) error {
	raw := map[string]any{}
	yaml, err := viper.NewCodecRegistry().Decoder("yaml")
	if err == nil {
		err = yaml.Decode(text, raw)
	}
	if err != nil {
		return invalid(path, "it is not YAML", err)
	}
	if key := sectionValue(raw); key != "" {
		return invalid(path, key+": it has settings of its own below it and no value", nil)
	}
	if key := unknown(raw, ""); key != "" {
		return &Refusal{Reason: wire.ReasonUnknownConfigKey, Text: fmt.Sprintf("%s has the unknown key %q", path, key), Next: Advice("remove it or write " + nearest(key))}
	}
	return v.MergeConfigMap(raw)
}

// unknown finds the first key of a settings file that is not one of keys. viper itself is laxer: it folds case and
// passes over empty sections.
func unknown(raw map[string]any, prefix string) string {
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		full := prefix + key
		switch value := raw[key].(type) {
		case map[string]any:
			if !isSection(full) {
				return full
			}
			if key := unknown(value, full+"."); key != "" {
				return key
			}
		default:
			// A section with another kind of value is known, and does not fit its type.
			if !slices.Contains(keys, full) && !isSection(full) {
				return full
			}
		}
	}
	return ""
}

func isSection(key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, key+".") })
}

// applyEnv sets what FLEET_* variables say, notes them in from and returns the names of those that say nothing.
func applyEnv(v *viper.Viper, environ []string, from sources) (strange []string) {
	byName := map[string]string{}
	for _, key := range keys {
		byName[envPrefix+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))] = key
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || name == envDir {
			continue
		}
		key, known := byName[name]
		switch {
		case !known:
			strange = append(strange, name)
		case value != "":
			v.Set(key, value)
			from[key] = name
		}
	}
	return strange
}

// hubVariable is the name of the variable that sets the hub id, "" if none does.
func hubVariable(environ []string) string {
	name := envPrefix + "HUB"
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok && value != "" {
			return name
		}
	}
	return ""
}

func invalid(path, text string, err error) error {
	return &Refusal{Reason: wire.ReasonInvalidConfig, Text: path + ": " + text, Next: Advice("correct it; docs/operating.md lists every setting"), Err: err}
}

// nearest is the known key most like a mistyped one, or the list of all.
func nearest(key string) string {
	best, bestAt := "", 3
	for _, k := range keys {
		if d := distance(key, k); d < bestAt {
			best, bestAt = k, d
		}
	}
	if best == "" {
		return "one of " + strings.Join(keys, ", ")
	}
	return best
}

// distance is the number of letters to insert, delete or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
