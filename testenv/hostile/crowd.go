package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/certs/certstest"
)

// Crowd is many strangers.
type Crowd struct {
	callers []*Caller // one for each host
	number  atomic.Uint64
}

// NewCrowd makes strangers of so many loopback hosts, at most 250.
func NewCrowd(hosts int) (*Crowd, error) {
	c := &Crowd{}
	for i := range hosts {
		caller, err := NewCaller(fmt.Sprintf("127.0.1.%d", i+1))
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.callers = append(c.callers, caller)
	}
	return c, nil
}

// Close sends everybody home.
func (c *Crowd) Close() error {
	var errs []error
	for _, caller := range c.callers {
		errs = append(errs, caller.Close())
	}
	return errors.Join(errs...)
}

// stranger mints a certificate that nobody knows, with a name and a key of its own.
func (c *Crowd) stranger() (*tls.Certificate, *Caller, error) {
	n := c.number.Add(1)
	cert, err := certstest.Mint(certstest.Spec{Hub: fmt.Sprintf("stranger-%d.example", n)})
	return &cert, c.callers[n%uint64(len(c.callers))], err
}

// Seen is what became of a crowd's calls.
type Seen struct {
	Refused  int64 // by an alert, or for the crowd
	Answered int64 // got application bytes
	Lost     int64 // ended otherwise, by time
}

// Storm lets so many strangers call, some at once, each with words on its lips.
func (c *Crowd) Storm(ctx context.Context, addr string, strangers, atOnce int) (Seen, error) {
	var refused, answered, lost atomic.Int64
	var g errgroup.Group
	g.SetLimit(atOnce)
	for range strangers {
		g.Go(func() error {
			cert, caller, err := c.stranger()
			if err != nil {
				return err
			}
			out, err := caller.Call(ctx, addr, cert, Words())
			switch {
			case err != nil:
				return err
			case out.Answered > 0:
				answered.Add(1)
			case out.Refused:
				refused.Add(1)
			default:
				lost.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	return Seen{Refused: refused.Load(), Answered: answered.Load(), Lost: lost.Load()}, err
}

// Words are bytes that a node which reads them answers with a goodbye.
func Words() []byte { return []byte("\xff\xff\xff\xff\xff\xff\xff\xff") }

// Stalled is where handshakes are that were begun at once and stop in the middle.
type Stalled struct {
	Inside  int64 // the node let them in, and waits for their certificate
	Refused int64 // before that
	// Took is how long it took until each was one or the other. What a node gives up meanwhile makes room for another, so
	// that after its patience Inside is no number of handshakes at once.
	Took time.Duration
}

// Stall begins so many handshakes at once and stops each where the node waits for the certificate.
func (c *Crowd) Stall(ctx context.Context, addr string, handshakes int) (Stalled, error) {
	to, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return Stalled{}, fmt.Errorf("hostile: %w", err)
	}
	// Minted first: what takes long must not lie between the first handshake and the last.
	certs, callers := make([]*tls.Certificate, handshakes), make([]*Caller, handshakes)
	for i := range handshakes {
		if certs[i], callers[i], err = c.stranger(); err != nil {
			return Stalled{}, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &stall{settled: make(chan struct{})}
	s.left.Store(int64(handshakes))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	begun := time.Now()
	for i := range handshakes {
		running.Go(func() { s.begin(ctx, callers[i], to, certs[i]) })
	}
	select {
	case <-s.settled:
	case <-ctx.Done():
		return Stalled{}, ctx.Err()
	}
	return Stalled{s.inside.Load(), s.refused.Load(), time.Since(begun)}, nil
}

// stall counts where handshakes are.
type stall struct {
	inside, refused atomic.Int64
	left            atomic.Int64 // neither inside nor over
	settled         chan struct{}
}

// place notes that a handshake has come to where it stays.
func (s *stall) place(n *atomic.Int64) {
	n.Add(1)
	if s.left.Add(-1) == 0 {
		close(s.settled)
	}
}

// begin makes one handshake. Its certificate is asked for once the node has let it in, and does not come until ctx ends.
func (s *stall) begin(ctx context.Context, c *Caller, to net.Addr, cert *tls.Certificate) {
	var placed atomic.Bool
	conf := certstest.Hostile(cert)
	conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		placed.Store(true)
		s.place(&s.inside)
		<-ctx.Done()
		return cert, nil
	}
	conn, err := c.tr.Dial(ctx, to, conf, quicConfig())
	if err == nil {
		_ = conn.CloseWithError(0, "")
	}
	if !placed.Load() {
		s.place(&s.refused)
	}
}
