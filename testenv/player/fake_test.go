package player

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"fleetrelay/hub/wire"
)

// noteLate marks a frame that the fake hub sends to a connection just before it answers that one's next question: as late
// as a frame too many can come.
const noteLate = "late"

// fakeHub plays the hub's side of a script. The script it is given may differ from the one the player holds: that is
// how faults are planted.
type fakeHub struct {
	entries []Entry
	ctx     context.Context
	cancel  context.CancelFunc
	server  *httptest.Server
	term    chan struct{}

	mu    sync.Mutex
	conns []*websocket.Conn // in the order of dialling; nil until the upgrade is done

	late map[*websocket.Conn][]byte // sent just before the next answer to a question

	dialled chan struct{}
	inbox   chan fakeInput
	readers sync.WaitGroup
	done    chan error
}

type fakeInput struct {
	from *websocket.Conn
	text []byte
	end  bool
}

// startFake starts a fake hub for the entries of a script from the given connection on.
func startFake(entries []Entry, skipped int) *fakeHub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &fakeHub{
		entries: entries, ctx: ctx, cancel: cancel, term: make(chan struct{}), dialled: make(chan struct{}, 64),
		inbox: make(chan fakeInput, 64), done: make(chan error, 1), late: map[*websocket.Conn][]byte{},
	}
	h.server = httptest.NewServer(http.HandlerFunc(h.accept))
	go func() { h.done <- h.run(skipped) }()
	return h
}

func (h *fakeHub) accept(w http.ResponseWriter, r *http.Request) {
	// The client may dial again as soon as the upgrade is answered: the place is taken before.
	h.mu.Lock()
	number := len(h.conns)
	h.conns = append(h.conns, nil)
	h.mu.Unlock()
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ws.SetReadLimit(4 << 20)
	h.mu.Lock()
	h.conns[number] = ws
	h.mu.Unlock()
	h.readers.Add(1)
	defer h.readers.Done()
	h.dialled <- struct{}{}
	for {
		_, text, err := ws.Read(h.ctx)
		select {
		case h.inbox <- fakeInput{ws, text, err != nil}:
		case <-h.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (h *fakeHub) stop() error {
	h.cancel()
	err := <-h.done
	h.server.CloseClientConnections()
	h.server.Close()
	h.readers.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// run walks the script. Connections are told apart by the order of dialling, which is that of first appearance.
func (h *fakeHub) run(skipped int) error {
	var labels []string
	at := map[string]*websocket.Conn{}
	for i, e := range h.entries {
		if e.Note == noteSIGTERM {
			select {
			case <-h.term:
			case <-h.ctx.Done():
			}
		}
		if e.Note == noteLate {
			h.late[at[e.Conn]] = ours(e.Frame)
		}
		if e.Note != "" {
			continue
		}
		if !slices.Contains(labels, e.Conn) {
			labels = append(labels, e.Conn)
			ws, err := h.await(len(labels) - 1 + skipped)
			if err != nil {
				return err
			}
			at[e.Conn] = ws
		}
		if err := h.step(at[e.Conn], &e); err != nil {
			return fmt.Errorf("fake hub, entry %d: %w", i, err)
		}
	}
	return h.answerQuestions()
}

func (h *fakeHub) await(number int) (*websocket.Conn, error) {
	for {
		h.mu.Lock()
		if len(h.conns) > number && h.conns[number] != nil {
			defer h.mu.Unlock()
			return h.conns[number], nil
		}
		h.mu.Unlock()
		if err := h.wait(); err != nil {
			return nil, err
		}
	}
}

// wait takes one dial; questions and ends that come meanwhile are dealt with.
func (h *fakeHub) wait() error {
	select {
	case <-h.dialled:
		return nil
	case in := <-h.inbox:
		return h.answer(in)
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
}

func (h *fakeHub) step(ws *websocket.Conn, e *Entry) error {
	switch {
	case e.Dir == toHub:
		return h.take(ws, e)
	case e.Close != nil:
		text := e.Close.Reason
		if text == anyText {
			text = "too large"
		}
		go ws.Close(websocket.StatusCode(e.Close.Code), text) // waits for the client's half
		return nil
	}
	return ws.Write(h.ctx, websocket.MessageText, ours(e.Frame))
}

// take waits for the client's frame or close; questions of the player in between are answered.
func (h *fakeHub) take(ws *websocket.Conn, e *Entry) error {
	for {
		select {
		case in := <-h.inbox:
			if isQuestion(in.text) {
				if err := h.answer(in); err != nil {
					return err
				}
				continue
			}
			if in.from != ws || in.end != (e.Close != nil) {
				continue // the end of a connection the script closed
			}
			return nil
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
	}
}

func (h *fakeHub) answerQuestions() error {
	for {
		select {
		case in := <-h.inbox:
			if err := h.answer(in); err != nil {
				return err
			}
		case <-h.dialled:
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
	}
}

func (h *fakeHub) answer(in fakeInput) error {
	if in.end || !isQuestion(in.text) {
		return nil
	}
	if frame := h.late[in.from]; frame != nil {
		delete(h.late, in.from)
		if err := in.from.Write(h.ctx, websocket.MessageText, frame); err != nil {
			return err
		}
	}
	_, verb, _ := bytes.Cut(in.text, []byte(settleVerb))
	number, _, _ := bytes.Cut(verb, []byte(`"`))
	answer := fmt.Sprintf(`{"type":"error","payload":"Unknown message type '%s%s'."}`, settleVerb, number)
	return in.from.Write(h.ctx, websocket.MessageText, []byte(answer))
}

func isQuestion(text []byte) bool { return bytes.Contains(text, []byte(settleVerb)) }

// ours changes what a real hub would have otherwise: other sequences, times, words, and an error code.
func ours(frame []byte) []byte {
	var f map[string]any
	if err := wire.Unmarshal(frame, &f); err != nil {
		panic(err)
	}
	for _, name := range []string{"seq", "message_seq"} {
		if n, ok := f[name].(float64); ok {
			f[name] = n*3 + 1
		}
	}
	if id, ok := f["receipt_notification_id"].(string); ok {
		parts := notification.FindStringSubmatch(id)
		f["receipt_notification_id"] = fmt.Sprintf("delivery-receipt:%d:%s", number(parts[1])*3+1, parts[2])
	}
	if t, ok := f["timestamp"].(float64); ok {
		f["timestamp"] = t + 1000
	}
	if f["payload"] == anyText {
		f["payload"] = "Our own words."
	}
	if f["type"] == "error" {
		f["error_code"] = "malformed_json"
	}
	text, err := wire.Marshal(f)
	if err != nil {
		panic(err)
	}
	return []byte(strings.ReplaceAll(string(text), "anon-", "anon-7"))
}
