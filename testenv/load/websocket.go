package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// webSocket is the client side of RFC 6455 with what a generator needs: whole text messages, corked writes, a mask of
// zeros, which the protocol allows and which costs nothing. A general client would cost the machine under test more than
// the hub does.
type webSocket struct {
	conn net.Conn
	in   *bufio.Reader

	mu  sync.Mutex
	out *bufio.Writer
}

const (
	opMore  = 0x0
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xa
	final   = 0x80
	masked  = 0x80
	opMask  = 0xf
)

// maxMessage bounds one message from a hub.
const maxMessage = 4 << 20

// generatorBuffer collects what many messages need for one system call.
const generatorBuffer = 32 << 10

// dialWebSocket connects with a buffer of the size given each way.
func dialWebSocket(ctx context.Context, addr string, size int) (*webSocket, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	w := &webSocket{conn: conn, in: bufio.NewReaderSize(conn, size), out: bufio.NewWriterSize(conn, size)}
	if err := w.upgrade(addr); err != nil {
		return nil, errors.Join(fmt.Errorf("upgrade: %w", err), conn.Close())
	}
	return w, nil
}

func (w *webSocket) upgrade(addr string) error {
	// The key is a nonce against caching proxies; there is none.
	_, err := fmt.Fprintf(w.conn, "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", addr)
	if err != nil {
		return err
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the hub answered %s", resp.Status)
	}
	return nil
}

// write puts one text message into the buffer.
func (w *webSocket) write(message []byte) error { return w.writeFrame(opText, message) }

func (w *webSocket) writeFrame(op byte, message []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var head [14]byte
	head[0] = final | op
	n := 2
	switch {
	case len(message) < 126:
		head[1] = masked | byte(len(message))
	case len(message) < 1<<16:
		head[1] = masked | 126
		binary.BigEndian.PutUint16(head[2:], uint16(len(message)))
		n = 4
	default:
		head[1] = masked | 127
		binary.BigEndian.PutUint64(head[2:], uint64(len(message)))
		n = 10
	}
	if _, err := w.out.Write(head[:n+4]); err != nil { // four zeros are the mask
		return err
	}
	_, err := w.out.Write(message)
	return err
}

// flush sends what is in the buffer.
func (w *webSocket) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Flush()
}

// read returns the next text message; pings on the way are answered. The bytes are valid until the next call.
func (w *webSocket) read(buf []byte) ([]byte, error) {
	buf = buf[:0]
	for begun := false; ; {
		head, part, err := w.readFrame(buf)
		if err == nil {
			err = checkFrame(head, len(part)-len(buf), begun)
		}
		if err != nil {
			return nil, err
		}
		switch head & opMask {
		case opPing:
			if err := errors.Join(w.writeFrame(opPong, part[len(buf):]), w.flush()); err != nil {
				return nil, err
			}
			continue
		case opPong:
			continue
		case opClose:
			answer := errors.Join(w.writeFrame(opClose, part[len(buf):]), w.flush())
			return nil, errors.Join(closeError(part[len(buf):]), answer)
		}
		buf, begun = part, true
		if head&final != 0 {
			return buf, nil
		}
	}
}

// checkFrame refuses what no hub sends: a frame lost or taken for another would be a message that was never counted.
// begun says that a message has begun and not ended.
func checkFrame(head byte, size int, begun bool) error {
	op := head & opMask
	switch {
	case head&^(final|opMask) != 0:
	case op == opPing || op == opPong || op == opClose:
		if head&final != 0 && size < 126 {
			return nil
		}
	case op == opText && !begun, op == opMore && begun:
		return nil
	}
	return fmt.Errorf("a frame of %d bytes that begins with %#02x is not the protocol's", size, head)
}

// readFrame appends one frame's payload to buf.
func (w *webSocket) readFrame(buf []byte) (head byte, all []byte, err error) {
	head, err = w.in.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	short, err := w.in.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	if short&masked != 0 {
		return 0, nil, errors.New("a masked frame from a hub")
	}
	size := uint64(short)
	if extra := extraBytes(short); extra > 0 {
		var b [8]byte
		if _, err := io.ReadFull(w.in, b[8-extra:]); err != nil {
			return 0, nil, err
		}
		size = binary.BigEndian.Uint64(b[:])
	}
	if size > uint64(maxMessage-len(buf)) {
		return 0, nil, fmt.Errorf("a message of more than %d bytes", maxMessage)
	}
	begin := len(buf)
	for uint64(cap(buf)-begin) < size {
		buf = append(buf[:cap(buf)], 0)
	}
	buf = buf[:begin+int(size)]
	_, err = io.ReadFull(w.in, buf[begin:])
	return head, buf, err
}

// closeError is the hub's close frame as an error: during a measurement no hub may close.
func closeError(payload []byte) error {
	if len(payload) < 2 {
		return errors.New("the hub closed the socket without a code")
	}
	return fmt.Errorf("the hub closed the socket: %d %s", binary.BigEndian.Uint16(payload), payload[2:])
}

// farewell bounds the wait for the answer to a close frame.
const farewell = 5 * time.Second

// leave sends the close frame behind everything written so far. What reads ends with the hub's answer. An error shows
// there, too.
func (w *webSocket) leave() {
	_ = w.conn.SetDeadline(time.Now().Add(farewell))
	_ = w.writeFrame(opClose, []byte{1000 >> 8, 1000 & 0xff})
	_ = w.flush()
}

// idle says that nothing more has been received yet.
func (w *webSocket) idle() bool { return w.in.Buffered() == 0 }

func (w *webSocket) close() error { return w.conn.Close() }

// extraBytes is how many bytes of length follow the short one.
func extraBytes(short byte) int {
	switch short {
	case 126:
		return 2
	case 127:
		return 8
	}
	return 0
}
