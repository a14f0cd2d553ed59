package skeleton

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// A link frame is kind u8, number u64, length u32 (0 for an acknowledgement), then the bytes.
const (
	kindRecord = 'r'
	kindAck    = 'a'
	headBytes  = 1 + 8 + 4
	maxRecord  = 2 << 20
)

// outgoing is one record for the peer.
type outgoing struct {
	number uint64
	frame  []byte
}

// link carries records and acknowledgements over one connection until it breaks.
func (h *hub) link(ctx context.Context, conn transport.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- h.writeLink(ctx, conn) }()
	go func() { ended <- h.readLink(conn) }()
	err := <-ended
	cancel()
	conn.Close(wire.ReasonHubShutdown)
	<-ended
	return err
}

// writeLink sends what waits and flushes when nothing more does.
func (h *hub) writeLink(ctx context.Context, conn transport.Conn) error {
	for {
		var o outgoing
		var err error
		select {
		case o = <-h.out:
			err = writeFrame(conn, kindRecord, o.number, o.frame)
		case n := <-h.acks:
			err = writeFrame(conn, kindAck, n, nil)
		default:
			if err := conn.Flush(); err != nil {
				return fmt.Errorf("link: %w", err)
			}
			select {
			case o = <-h.out:
				err = writeFrame(conn, kindRecord, o.number, o.frame)
			case n := <-h.acks:
				err = writeFrame(conn, kindAck, n, nil)
			case <-ctx.Done():
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("link: %w", err)
		}
	}
}

func writeFrame(w io.Writer, kind byte, number uint64, frame []byte) error {
	var head [headBytes]byte
	head[0] = kind
	binary.BigEndian.PutUint64(head[1:], number)
	binary.BigEndian.PutUint32(head[9:], uint32(len(frame)))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(frame)
	return err
}

// readLink scans what comes and hands it to the committer.
func (h *hub) readLink(conn transport.Conn) error {
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		kind, number, frame, err := readFrame(in)
		if err != nil {
			return fmt.Errorf("link: %w", err)
		}
		if kind == kindAck {
			continue // nothing is trimmed here
		}
		msg, bad := wire.ParseInbound(frame, wire.Limits{})
		if bad != nil {
			return fmt.Errorf("link: a record is refused: %s", bad.Reason)
		}
		h.in <- record{frame: frame, target: msg.Target, link: number}
	}
}

func readFrame(in io.Reader) (kind byte, number uint64, frame []byte, err error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[9:])
	if head[0] != kindRecord && (head[0] != kindAck || size > 0) || size > maxRecord {
		return 0, 0, nil, fmt.Errorf("a frame of kind %#02x and %d bytes", head[0], size)
	}
	if size > 0 {
		frame = make([]byte, size)
	}
	_, err = io.ReadFull(in, frame)
	return head[0], binary.BigEndian.Uint64(head[1:]), frame, err
}
