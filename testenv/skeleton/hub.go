package skeleton

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"fleetrelay/hub/journal/bare"
	"fleetrelay/hub/wire"
)

// A group commit takes at most so much.
const (
	maxBatch      = 512
	maxBatchBytes = 1 << 20
)

// queued is how much may wait for the committer, the link, and one socket's writer.
const queued = 1 << 14

// record is one chat on its way through this hub.
type record struct {
	frame  []byte // as it came, from an agent or over the link
	sender *agent // nil when it came over the link
	target string // the seat here, or seat@hub
	link   uint64 // its number on the link it came over
}

// agent is one connected socket.
type agent struct {
	out  outlet
	name string // owned by the socket's reader
}

// hub is one hop of the pipeline.
type hub struct {
	id      string
	batched bool // delivery in as few system calls as possible
	log     *bare.Log
	in      chan record
	out     chan outgoing // to the peer, nil without one
	acks    chan uint64   // to the peer, nil without one

	mu     sync.RWMutex
	agents map[string]*agent
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := h.upgrade(w, r)
	if err != nil {
		return // the answer has been written
	}
	a := &agent{out: out}
	welcome := wire.Welcome{HubID: wire.HubID(h.id), ConnectedClients: 1}
	out.send(welcome.Append(nil))
	out.run(r.Context(), func(message []byte) error { return h.take(a, message) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.agents[a.name] == a {
		delete(h.agents, a.name)
	}
}

// take scans one frame of an agent and hands chats to the committer.
func (h *hub) take(a *agent, message []byte) error {
	in, bad := wire.ParseInbound(message, wire.Limits{})
	if bad != nil {
		return fmt.Errorf("the generator's frame is refused: %s", bad.Reason)
	}
	if a.name == "" {
		a.name = in.Sender
		h.mu.Lock()
		h.agents[a.name] = a
		h.mu.Unlock()
	}
	switch in.Type {
	case wire.TypeChat:
		h.in <- record{frame: message, sender: a, target: in.Target}
	case wire.TypeHeartbeat:
		joined := wire.PresenceUpdate{HubID: wire.HubID(h.id), Event: wire.PresenceJoined, Agent: a.name}
		a.out.send(joined.Append(nil))
	}
	return nil
}

// commit is the one committer: it takes whatever waits, syncs it, and only then tells. It ends when in is closed.
func (h *hub) commit() error {
	last, err := h.log.Last()
	if err != nil {
		return err
	}
	var batch []record
	var rows []bare.Record
	for first := range h.in {
		batch = h.gather(append(batch[:0], first))
		rows = rows[:0]
		for i := range batch {
			last++
			rows = append(rows, bare.Record{Seq: last, Value: batch[i].frame})
		}
		if err := h.log.Commit(rows); err != nil {
			return err
		}
		h.tell(batch, rows)
	}
	return nil
}

// gather adds what else waits.
func (h *hub) gather(batch []record) []record {
	bytes := len(batch[0].frame)
	for len(batch) < maxBatch && bytes < maxBatchBytes {
		select {
		case r, ok := <-h.in:
			if !ok {
				return batch
			}
			batch = append(batch, r)
			bytes += len(r.frame)
		default:
			return batch
		}
	}
	return batch
}

// tell releases what a synced batch allows.
func (h *hub) tell(batch []record, rows []bare.Record) {
	acked := uint64(0)
	for i := range batch {
		r := &batch[i]
		frame := stamp(r.frame, rows[i].Seq, h.id)
		if r.sender != nil {
			r.sender.out.send(frame)
		}
		acked = max(acked, r.link)
		if at := strings.LastIndexByte(r.target, '@'); at >= 0 && h.out != nil && r.sender != nil {
			h.out <- outgoing{rows[i].Seq, r.frame}
			continue
		}
		if to := h.agent(r.target); to != nil {
			to.out.send(frame)
		}
	}
	if acked > 0 {
		h.acks <- acked
	}
}

func (h *hub) agent(target string) *agent {
	name, _, _ := strings.Cut(target, "@")
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.agents[name]
}

// stamp is the frame with what a hub adds, without encoding any of it again.
func stamp(frame []byte, seq uint64, hub string) []byte {
	b := make([]byte, 0, len(frame)+64)
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"hub_id":"`...)
	b = append(b, hub...)
	b = append(b, `",`...)
	return append(b, frame[1:]...)
}
