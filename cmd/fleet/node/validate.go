package node

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fleetrelay/hub/wire"
)

// Bounds of the settings. Below 4 KiB no welcome fits, above 64 MiB no reference client reads.
const (
	maxSockets      = 1 << 20
	minFrame        = 4 << 10
	maxFrame        = 64 << 20
	minRegistration = 100 * time.Millisecond
	maxRegistration = 10 * time.Minute
)

// validate says which setting is wrong, before anything is opened, and makes file names absolute.
func (c *Config) validate(dir string, bad func(key, text string, args ...any) error) error {
	if _, err := wire.ParseHubID(c.Hub); err != nil {
		return bad("hub", "%q is no hub id", c.Hub)
	}
	for _, at := range []struct{ key, value string }{{"agents", c.Agents}, {"links", c.Links}} {
		if err := checkAddress(at.value); err != nil {
			return bad(at.key, "%v", err)
		}
	}
	if err := checkAnnounce(c.Announce); err != nil {
		return bad("announce", "%v", err)
	}
	if (c.AgentsTLS.Cert == "") != (c.AgentsTLS.Key == "") {
		return bad("agents_tls", "cert and key belong together; one is missing")
	}
	c.AgentsTLS.Cert, c.AgentsTLS.Key = below(dir, c.AgentsTLS.Cert), below(dir, c.AgentsTLS.Key)
	switch l := c.Limits; {
	case l.Sockets < 0 || l.Sockets > maxSockets:
		return bad("limits.sockets", "%d is not between 1 and %d", l.Sockets, maxSockets)
	case l.PerHost < 0 || l.PerHost > maxSockets:
		return bad("limits.per_host", "%d is not between 1 and %d", l.PerHost, maxSockets)
	case l.Unauthenticated < 0 || l.Unauthenticated > maxSockets:
		return bad("limits.unauthenticated", "%d is not between 1 and %d", l.Unauthenticated, maxSockets)
	case l.FrameBytes != 0 && (l.FrameBytes < minFrame || l.FrameBytes > maxFrame):
		return bad("limits.frame_bytes", "%d is not between %d and %d", l.FrameBytes, minFrame, maxFrame)
	case l.RegistrationTimeout != 0 && (l.RegistrationTimeout < minRegistration || l.RegistrationTimeout > maxRegistration):
		return bad("limits.registration_timeout", "%v is not between %v and %v; the default is 10s", l.RegistrationTimeout, minRegistration, maxRegistration)
	}
	if !slices.Contains([]string{"", "debug", "info", "warn", "error"}, c.Log.Level) {
		return bad("log.level", "%q is not debug, info, warn or error", c.Log.Level)
	}
	if !slices.Contains([]string{"", "auto", "text", "json"}, c.Log.Format) {
		return bad("log.format", "%q is not auto, text or json", c.Log.Format)
	}
	return nil
}

func below(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// checkAddress takes host:port with a numeric port; the host may be empty for all interfaces.
func checkAddress(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q has no port between 0 and 65535", addr)
	}
	return nil
}

// loopback says whether an address is reachable from this machine only. A name other than localhost may resolve
// to anything, so it does not count.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || (ip != nil && ip.IsLoopback())
}
