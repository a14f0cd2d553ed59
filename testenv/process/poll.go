package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// stop wraps an error that more polling cannot mend.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

// Stop marks an error with which Poll gives up at once.
func Stop(err error) error { return stop{err} }

// Poll looks at a condition until it returns nil. It ends early on an error marked by Stop, and with the condition's
// last error when ctx ends.
func Poll(ctx context.Context, condition func() error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if s := (stop{}); errors.As(err, &s) {
			return s.error
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// Answers is a Ready condition: something accepts connections on the address.
func Answers(network, address string) func(context.Context, *Process) error {
	return func(ctx context.Context, _ *Process) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// Says is a Ready condition: stdout holds the text.
func Says(text string) func(context.Context, *Process) error {
	return func(_ context.Context, p *Process) error {
		if !strings.Contains(p.Stdout(), text) {
			return fmt.Errorf("it has not said %q", text)
		}
		return nil
	}
}

// Prints is a Ready condition: stderr holds the text.
func Prints(text string) func(context.Context, *Process) error {
	return func(_ context.Context, p *Process) error {
		if !strings.Contains(p.Stderr(), text) {
			return fmt.Errorf("it has not printed %q", text)
		}
		return nil
	}
}

// FreePorts returns n loopback port numbers, each free for TCP and UDP when looked at and different from each other.
// Another program may take one before it is used: whoever starts a node must be ready to see it refuse.
func FreePorts(n int) ([]int, error) {
	var ports []int
	var held []interface{ Close() error }
	defer func() {
		for _, h := range held {
			h.Close()
		}
	}()
	for range 20 * n {
		if len(ports) == n {
			return ports, nil
		}
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("free port: %w", err)
		}
		held = append(held, tcp)
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err != nil {
			continue // taken for UDP: another number
		}
		held = append(held, udp)
		ports = append(ports, tcp.Addr().(*net.TCPAddr).Port)
	}
	if len(ports) == n {
		return ports, nil
	}
	return nil, errors.New("free port: every number that is free for TCP is taken for UDP")
}
