package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"time"
)

// A QUIC server answers a long-header packet of a version it does not know, if it has at least 1200 bytes, with the list
// of those it knows (RFC 9000, section 6), before any key or certificate is looked at:
//
//	question  flags(1) version(4) length(1) destination(8) length(1) source(8) padding
//	answer    flags(1) 0(4)       length(1) source(8)      length(1) destination(8) versions
const (
	probeBytes   = 1200
	probeVersion = 0x1a2a3a4a // of the pattern that is reserved to be unknown for ever
	idBytes      = 8
	longHeader   = 0x80
)

// The question is asked again every probeEvery, since a packet may be lost, and given up after probePatience.
const (
	probeEvery    = 300 * time.Millisecond
	probePatience = 2 * time.Second
)

// probe is one question and the beginning of its answer after the flags.
type probe struct{ question, answer []byte }

func newProbe() probe {
	var ids [2 * idBytes]byte
	_, _ = rand.Read(ids[:]) // documented never to fail
	destination, source := ids[:idBytes], ids[idBytes:]
	return probe{
		question: head(probeVersion, destination, source),
		answer:   head(0, source, destination)[1 : 1+4+2*(1+idBytes)],
	}
}

func head(version uint32, destination, source []byte) []byte {
	packet := make([]byte, 0, probeBytes)
	packet = append(packet, longHeader|0x40)
	packet = binary.BigEndian.AppendUint32(packet, version)
	packet = append(append(packet, byte(len(destination))), destination...)
	packet = append(append(packet, byte(len(source))), source...)
	return packet[:probeBytes]
}

// answeredBy says whether a packet answers this question. A forged one would have to know its random ids.
func (p probe) answeredBy(packet []byte) bool {
	return len(packet) > 0 && packet[0]&longHeader != 0 && bytes.HasPrefix(packet[1:], p.answer)
}

// reach asks addr, HOST:PORT with a numeric host, whether a QUIC server is there, and returns how long its answer took. The
// error is that of the system, such as a port on which nobody listens, or of the time, when nothing came.
func reach(ctx context.Context, addr string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp", addr)
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // ends the reading below
	defer func() {
		if stop() {
			_ = c.Close()
		}
	}()
	took, err := newProbe().ask(ctx, c)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return took, err
}

func (p probe) ask(ctx context.Context, c net.Conn) (time.Duration, error) {
	packet := make([]byte, probeBytes+1)
	for {
		asked := time.Now()
		if _, err := c.Write(p.question); err != nil {
			return 0, err
		}
		if err := c.SetReadDeadline(asked.Add(probeEvery)); err != nil {
			return 0, err
		}
		for {
			n, err := c.Read(packet)
			if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() && ctx.Err() == nil {
				break
			}
			if err != nil {
				return 0, err
			}
			if p.answeredBy(packet[:n]) {
				return time.Since(asked), nil
			}
		}
	}
}
