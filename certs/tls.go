package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// ALPN is the protocol name of links; without it a handshake fails.
	ALPN = "fleet-relay/1"
	// agentALPN is what agents' WebSockets upgrade from.
	agentALPN = "http/1.1"
	// maxFile bounds a key or certificate file in bytes.
	maxFile = 1 << 20
)

// LinkServer returns the configuration for accepting links. trust and now are
// called at every handshake; a nil Trust refuses everyone. refused, which may
// be nil, is told of every refusal with the context of its handshake, before
// the other side is; it must not block.
func LinkServer(id *Identity, trust func() Trust, now func() time.Time, refused func(context.Context, *Error)) *tls.Config {
	verify := func(state tls.ConnectionState) error {
		return check{role: client, trust: trust(), now: now()}.verify(state)
	}
	conf := serverConfig(id, verify)
	if refused != nil {
		// The only callback that knows its handshake is this one.
		conf.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return serverConfig(id, telling(hello.Context(), verify, refused)), nil
		}
	}
	return conf
}

type verifyFunc = func(tls.ConnectionState) error

func telling(ctx context.Context, verify verifyFunc, refused func(context.Context, *Error)) verifyFunc {
	return func(state tls.ConnectionState) error {
		err := verify(state)
		if refusal, ok := errors.AsType[*Error](err); ok {
			refused(ctx, refusal)
		}
		return err
	}
}

func serverConfig(id *Identity, verify verifyFunc) *tls.Config {
	conf := linkConfig(id, verify)
	// Requested and not required: crypto/tls reports a missing certificate as
	// a bare text, while the verify function, which always runs, refuses it
	// with its code.
	conf.ClientAuth = tls.RequestClientCert
	return conf
}

// LinkClient returns the configuration for dialing the hub want. trust and now
// are called at every handshake. call is said by the certificate that this side
// shows; a handshake fails with [ErrCall] if it is out of bounds.
func LinkClient(id *Identity, want string, trust func() Trust, now func() time.Time, call Call) *tls.Config {
	conf := linkConfig(id, func(state tls.ConnectionState) error {
		return check{role: server, want: want, trust: trust(), now: now()}.verify(state)
	})
	// The library's check knows authorities and host names; ours knows pins and
	// hub ids, runs on every handshake and replaces it.
	conf.InsecureSkipVerify = true
	// Whatever authorities the other side asks for, there is one key.
	conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return id.certificateFor(call)
	}
	return conf
}

// linkConfig has what both roles share. There is no session cache and tickets
// are off: a resumed session could outlive the trust it began with.
func linkConfig(id *Identity, verify verifyFunc) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		MaxVersion:             tls.VersionTLS13,
		NextProtos:             []string{ALPN},
		SessionTicketsDisabled: true,
		Certificates:           []tls.Certificate{id.cert},
		VerifyConnection:       verify,
	}
}

// AgentServer returns the configuration for the agents' listener from an
// operator's own files. The certificate must be within its dates at now; the
// key must not be open to everyone (a group may read it, as is usual for keys
// that several services share).
func AgentServer(certFile, keyFile string, now time.Time) (*tls.Config, error) {
	keyPEM, err := readKey(keyFile, 0o007)
	if err != nil {
		return nil, err
	}
	certPEM, err := readCert(certFile)
	if err != nil {
		return nil, fmt.Errorf("certs: agents' certificate: %w", err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%w: %s and %s are not a pair", ErrDamaged, certFile, keyFile)
	}
	if err := within(cert.Leaf, now); err != nil {
		return nil, fmt.Errorf("%s: %w", certFile, err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{agentALPN},
		Certificates: []tls.Certificate{cert},
	}, nil
}

func within(leaf *x509.Certificate, now time.Time) error {
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Errorf("%w: valid from %s until %s, it is %s", ErrExpired, leaf.NotBefore.UTC().Format(time.RFC3339),
			leaf.NotAfter.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return nil
}

// readBounded reads a small file and refuses a large one.
func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("certs: read: %w", err)
	}
	if len(data) > maxFile {
		return nil, errors.Join(ErrDamaged, errors.New("file is larger than 1 MiB"))
	}
	return data, nil
}
