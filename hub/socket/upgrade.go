package socket

import (
	"bufio"
	"net"
	"net/http"
)

// controlSize is the writer buffer under the library: large enough for a whole control frame, so that one is never
// torn apart, and small, since the cork collects the frames.
const controlSize = 256

// corkedHijacker slips the cork between the HTTP server's connection and the WebSocket library.
type corkedHijacker struct {
	http.ResponseWriter
	cork *cork
}

// Hijack implements http.Hijacker.
func (h *corkedHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.cork = newCork(conn)
	return h.cork, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(h.cork, controlSize)), nil
}
