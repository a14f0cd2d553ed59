package player

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetrelay/certs/certstest"
	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
	"fleetrelay/testenv/cluster"
	"fleetrelay/testenv/process"
)

// product starts the built binary as an operator does, each hub in a folder of its own.
type product struct {
	t      *testing.T
	binary string
	secure bool
	client *http.Client
	dialer net.Dialer
}

func newProduct(t *testing.T, binary string, secure bool) *product {
	p := &product{t: t, binary: binary, secure: secure}
	p.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return p.dialer.DialContext(ctx, network, addr)
		},
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13},
	}}
	return p
}

// start makes a node, writes into fleet.yaml what the scenario needs, and serves.
func (p *product) start(ctx context.Context, want Hub) (*Running, error) {
	n, err := cluster.Make(ctx, cluster.Options{
		Binary: p.binary, Hub: "hub-1", Dir: p.t.TempDir(), Args: []string{"--agents", "127.0.0.1:0", "--links", "127.0.0.1:0"},
	})
	if err != nil {
		return nil, err
	}
	if err := p.configure(n.Dir, want); err != nil {
		return nil, err
	}
	run := &Running{}
	if want.TokenFor != "" {
		if run.Token, err = newToken(ctx, n, want.TokenFor); err != nil {
			return nil, err
		}
	}
	if err := n.Start(ctx); err != nil {
		return nil, errors.Join(err, n.Proc.Kill())
	}
	admin, err := node.Running(ctx, n.Dir)
	if err != nil {
		return nil, errors.Join(err, n.Proc.Kill())
	}
	s, err := admin.Status(ctx)
	if err == nil && (s.AgentsTLS != p.secure || s.PrivateDirected || s.Secured != (want.TokenFor != "")) {
		err = fmt.Errorf("another hub than was wanted: %+v", s)
	}
	if err != nil {
		return nil, errors.Join(err, admin.Close(), n.Proc.Kill())
	}
	run.URL = "ws://" + s.Agents
	if p.secure {
		run.URL = "wss://" + s.Agents
	}
	p.runs(run, n, admin)
	return run, nil
}

// runs fills in how the running node is asked and ended.
func (p *product) runs(run *Running, n *cluster.Node, admin *node.Client) {
	ended := make(chan error, 1)
	terminated := false
	run.Terminate = func(context.Context) error {
		terminated = true
		go func() { ended <- n.Stop(context.Background()) }() // SIGTERM
		return nil
	}
	run.Sockets = func() int {
		s, err := admin.Status(context.Background())
		if err != nil {
			return 0
		}
		return s.Sockets
	}
	run.Stop = func() error {
		if !terminated {
			ended <- n.Stop(context.Background())
		}
		err := errors.Join(<-ended, admin.Close())
		p.client.CloseIdleConnections()
		return err
	}
}

// configure appends to the file that init wrote.
func (p *product) configure(dir string, want Hub) error {
	var limits []string
	limit := func(key string, value any, set bool) {
		if set {
			limits = append(limits, fmt.Sprintf("%s: %v", key, value))
		}
	}
	limit("sockets", want.MaxSockets, want.MaxSockets > 0)
	limit("per_host", want.PerHost, want.PerHost > 0)
	limit("unauthenticated", want.Unauthenticated, want.Unauthenticated > 0)
	limit("registration_timeout", want.RegistrationTimeout, want.RegistrationTimeout > 0)
	settings := "limits: {" + strings.Join(limits, ", ") + "}\n"
	p.dialer = net.Dialer{}
	if want.PerHost > 0 { // loopback is exempt: come from elsewhere
		p.dialer.LocalAddr = &net.TCPAddr{IP: beyondLoopback()}
	}
	if p.secure {
		settings += "agents_tls: {cert: agents.crt, key: agents.key}\n"
		if err := p.certify(dir); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, node.ConfigFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, settings...), 0o600)
}

// certify puts a certificate of the agents' listener into the folder and has the client trust this one alone.
func (p *product) certify(dir string) error {
	cert, err := certstest.Mint(certstest.Spec{Hub: "hub-1", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		return err
	}
	certPEM, keyPEM, err := certstest.PEM(cert)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	p.client.Transport.(*http.Transport).TLSClientConfig.RootCAs = roots
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "agents.crt"), certPEM, 0o644), os.WriteFile(filepath.Join(dir, "agents.key"), keyPEM, 0o600),
	)
}

func newToken(ctx context.Context, n *cluster.Node, seat string) (string, error) {
	out, err := n.Command(ctx, "agent", "token", "create", "--seat", seat, "--json")
	if err != nil {
		return "", err
	}
	var made node.Token
	if err := wire.Unmarshal([]byte(out), &made); err != nil {
		return "", err
	}
	return made.Secret, nil
}

// beyondLoopback is an address of this machine that the hub does not take for a local one, nil when there is none.
func beyondLoopback() net.IP {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP
		}
	}
	return nil
}

// playable leaves out hubs that bound sockets per host on a machine that has no address but loopback: the binary cannot
// be told otherwise, and the hub in process has shown that part.
func playable(s Scenario) Scenario {
	if beyondLoopback() != nil {
		return s
	}
	s.Again = maps.Clone(s.Again)
	left := true
	s.Entries = slices.DeleteFunc(slices.Clone(s.Entries), func(e Entry) bool {
		if want, ok := s.Again[e.Conn]; ok {
			left = want.PerHost == 0
		}
		return !left
	})
	maps.DeleteFunc(s.Again, func(_ string, want Hub) bool { return want.PerHost > 0 })
	return s
}

// TestBinaryPlaysTheCaptures is `fleet serve` against every captured scenario, plain and over TLS.
func TestBinaryPlaysTheCaptures(t *testing.T) {
	binary, err := process.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		carrier := map[bool]string{false: "plain", true: "TLS"}[secure]
		for _, s := range scenarios(t) {
			t.Run(carrier+"/"+s.Name, func(t *testing.T) {
				t.Parallel() // most of a start and a stop is waiting for the disk
				p, s := newProduct(t, binary, secure), playable(s)
				if err := Play(t.Context(), &s, Options{Start: p.start, HTTP: p.client, Patience: 10 * time.Second}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
