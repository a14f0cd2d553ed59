package checker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/clientlog"
)

// world makes a correct history of two hubs and then, in the fault tests, is tampered with.
type world struct {
	hubs  map[string]*modelHub
	apps  []*modelApp
	clock int64
}

// modelHub is one journal as a list of exported events.
type modelHub struct {
	id, epoch string
	events    []*exportLine
	msgID     uint64
	laneSeq   uint64           // of the lane to the other hub
	admitted  uint64           // lane seqs of the other hub's lane taken in
	asked     map[laneKey]bool // chats whose senders asked for a receipt
	withdrawn map[uint64]bool  // lane seqs of its own lane
}

// modelApp is one application and its log.
type modelApp struct {
	hub, name string
	log       []*clientlog.Entry
	cursor    uint64          // highest seq of its hub looked at
	has       map[string]bool // sender and client_msg_id
	next      int
}

func newWorld() *world {
	w := &world{hubs: map[string]*modelHub{}, clock: 1_800_000_000_000_000}
	for i, id := range []string{"hub-a", "hub-b"} {
		h := &modelHub{id: id, epoch: fmt.Sprintf("%032x", i+1), asked: map[laneKey]bool{}, withdrawn: map[uint64]bool{}}
		w.hubs[id] = h
		w.event(h, kindEpochStarted, exportRecord{HubID: id, Number: 1, ID: h.epoch}, nil)
		for n := range 2 {
			a := &modelApp{hub: id, name: fmt.Sprintf("p/s%d", n), has: map[string]bool{}}
			w.apps = append(w.apps, a)
			w.log(a, clientlog.Entry{Kind: clientlog.Joined})
		}
	}
	return w
}

func (w *world) event(h *modelHub, kind string, rec exportRecord, body []byte) *exportLine {
	w.clock++
	e := &exportLine{Seq: uint64(len(h.events) + 1), Kind: kind, TimeUS: w.clock, Record: rec}
	if body != nil {
		text := string(body)
		e.Body = &text
		sum := sha256.Sum256(body)
		e.Digest = hex.EncodeToString(sum[:])
	}
	h.events = append(h.events, e)
	return e
}

func (w *world) log(a *modelApp, e clientlog.Entry) *clientlog.Entry {
	w.clock++
	e.Who, e.Hub, e.TimeUS = a.name, a.hub, w.clock
	if e.Kind == clientlog.Joined {
		e.Conn = 1
		for _, old := range a.log {
			e.Conn = max(e.Conn, old.Conn+1)
		}
	} else {
		e.Conn = a.log[len(a.log)-1].Conn
	}
	a.log = append(a.log, &e)
	return &e
}

// send is one frame of one message: the send, the record, and, unless the copy is lost with the connection, the own copy.
func (w *world) send(a *modelApp, to, id, text string, receipt, copyLost bool) {
	digest := clientlog.Digest([]byte(text))
	w.log(a, clientlog.Entry{Kind: clientlog.Sent, To: to, ClientMsgID: id, Digest: digest, Asked: receipt})
	h := w.hubs[a.hub]
	h.msgID++
	body, err := wire.Marshal(map[string]string{"client_msg_id": id, "payload": text})
	if err != nil {
		panic(err)
	}
	rec := exportRecord{MsgID: h.msgID, Sender: a.name, Target: to, ClientMsgID: id}
	if target := senderSeat(to, a.hub); target.hub != a.hub {
		h.laneSeq++
		rec.Dest, rec.LaneSeq = target.hub, h.laneSeq
	}
	e := w.event(h, kindChatAccepted, rec, body)
	if receipt && rec.Dest != "" {
		h.asked[laneKey{h.id, rec.Dest, h.epoch, rec.LaneSeq}] = true
	} else if receipt {
		w.event(h, kindReceiptSettled, exportRecord{ChatSeq: e.Seq, State: stateDelivered}, nil)
	}
	if copyLost {
		w.log(a, clientlog.Entry{Kind: clientlog.Joined})
		return
	}
	w.log(a, clientlog.Entry{Kind: clientlog.Accepted, To: to, ClientMsgID: id, Digest: digest, Seq: e.Seq, MsgID: h.msgID})
	if receipt && rec.Dest == "" {
		w.tellReceipt(h, e, stateDelivered, nil)
	}
}

// tellReceipt has the sender of a record told what was settled.
func (w *world) tellReceipt(h *modelHub, chat *exportLine, state string, recipients []string) {
	w.log(w.app(h.id, chat.Record.Sender), clientlog.Entry{
		Kind: clientlog.Receipt, ClientMsgID: chat.Record.ClientMsgID, Seq: chat.Seq, Delivered: saysDelivered(state),
		Deferred: state == stateDeferred, Expired: state == stateExpired, Recipients: recipients, RemoteHub: chat.Record.Dest,
		NotificationID: fmt.Sprintf("delivery-receipt:%d:%s", chat.Seq, state),
	})
}

// say makes what a hub says of another hub's chat the next record of its lane back.
func (w *world) say(h *modelHub, chat *exportLine, state string) {
	rec := exportRecord{ChatSeq: chat.Seq, State: state, About: chat.Record.Origin.LaneSeq}
	if saysDelivered(state) {
		rec.Recipients = []string{chat.Record.Target}
	}
	if last := h.events[len(h.events)-1]; last.Kind == kindVerdictsSaid && last.Record.Dest == chat.Record.Origin.Hub && w.clock%2 == 0 {
		last.Record.Verdicts = append(last.Record.Verdicts, rec) // of one turn
		return
	}
	h.laneSeq++
	w.event(h, kindVerdictsSaid, exportRecord{Dest: chat.Record.Origin.Hub, LaneSeq: h.laneSeq, Verdicts: []exportRecord{rec}}, nil)
}

// hear takes what the other hub says of a chat, and tells its sender.
func (w *world) hear(src, dst *modelHub, said *exportLine) {
	dst.admitted++
	rec := exportRecord{
		Origin: &originRow{Hub: src.id, Epoch: 1, EpochID: src.epoch, LaneSeq: said.Record.LaneSeq, AcceptedUS: said.TimeUS},
	}
	for _, v := range said.Record.Verdicts {
		i := slices.IndexFunc(dst.events, func(e *exportLine) bool {
			return e.Kind == kindChatAccepted && e.Record.Dest == src.id && e.Record.LaneSeq == v.About
		})
		rec.Verdicts = append(rec.Verdicts, exportRecord{
			About: v.About, State: v.State, HubSeq: v.ChatSeq, Recipients: v.Recipients, ChatSeq: dst.events[i].Seq, Tells: v.State,
		})
		w.tellReceipt(dst, dst.events[i], v.State, v.Recipients)
	}
	w.event(dst, kindVerdictsHeard, rec, nil)
	w.event(src, kindLaneAcked, exportRecord{Peer: dst.id, LaneSeq: said.Record.LaneSeq}, nil)
}

// cross takes the next record of the lane from one hub to the other, refusing it when told so. It says whether there was one.
func (w *world) cross(from, to string, refuse bool) bool {
	src, dst := w.hubs[from], w.hubs[to]
	i := slices.IndexFunc(src.events, func(e *exportLine) bool {
		return e.Record.Dest == to && e.Record.LaneSeq == dst.admitted+1
	})
	if i < 0 {
		return false
	}
	if src.events[i].Kind == kindVerdictsSaid {
		w.hear(src, dst, src.events[i])
		return true
	}
	w.crossRecord(src, dst, src.events[i], refuse)
	return true
}

func (w *world) crossRecord(src, dst *modelHub, sent *exportLine, refuse bool) {
	from, to := src.id, dst.id
	dst.admitted++
	o := &originRow{
		Hub: from, Epoch: 1, EpochID: src.epoch, LaneSeq: sent.Record.LaneSeq, MsgID: sent.Record.MsgID,
		AcceptedUS: sent.TimeUS, Sender: sent.Record.Sender, Target: sent.Record.Target,
	}
	if src.withdrawn[o.LaneSeq] {
		w.event(dst, kindWithdrawn, exportRecord{Origin: o, Reason: "relay_expired"}, nil)
		return
	}
	if refuse {
		w.refuse(src, dst, sent, o)
		return
	}
	dst.msgID++
	in := w.event(dst, kindChatAccepted, exportRecord{
		MsgID: dst.msgID, Sender: sent.Record.Sender + "@" + from, Target: senderSeat(sent.Record.Target, to).name,
		ClientMsgID: sent.Record.ClientMsgID, Origin: o,
	}, sent.body())
	w.event(src, kindLaneAcked, exportRecord{Peer: to, LaneSeq: sent.Record.LaneSeq}, nil)
	if !src.asked[laneKey{from, to, src.epoch, o.LaneSeq}] {
		return
	}
	if o.LaneSeq%3 == 0 { // the recipient is there at the moment
		w.say(dst, in, stateDelivered)
		return
	}
	w.say(dst, in, statePending)
	dst.asked[o.lane(to)] = true
}

func (w *world) refuse(src, dst *modelHub, sent *exportLine, o *originRow) {
	w.event(dst, kindInboundRefused, exportRecord{Origin: o, Reason: "not_permitted"}, sent.body())
	w.event(src, kindRemoteRefused, exportRecord{Peer: dst.id, LaneSeq: sent.Record.LaneSeq, ChatSeq: sent.Seq, Reason: "not_permitted"}, nil)
	if a := w.app(src.id, sent.Record.Sender); a != nil {
		w.log(a, clientlog.Entry{Kind: clientlog.Refused, ClientMsgID: sent.Record.ClientMsgID, Reason: "not_permitted"})
	}
	if src.asked[laneKey{src.id, dst.id, src.epoch, o.LaneSeq}] {
		w.event(src, kindReceiptSettled, exportRecord{ChatSeq: sent.Seq, State: statePending}, nil)
		w.tellReceipt(src, sent, statePending, nil)
	}
}

// withdraw ends the oldest record of a lane that has not crossed, and says whether there was one.
func (w *world) withdraw(from, to string) bool {
	src := w.hubs[from]
	i := slices.IndexFunc(src.events, func(e *exportLine) bool {
		return e.Kind == kindChatAccepted && e.Record.Dest == to && e.Record.LaneSeq > w.hubs[to].admitted && !src.withdrawn[e.Record.LaneSeq]
	})
	if i < 0 {
		return false
	}
	sent := src.events[i]
	src.withdrawn[sent.Record.LaneSeq] = true
	w.event(src, kindWithdrawn, exportRecord{Peer: to, LaneSeq: sent.Record.LaneSeq, ChatSeq: sent.Seq, Reason: "relay_expired"}, nil)
	w.log(w.app(from, sent.Record.Sender), clientlog.Entry{Kind: clientlog.Refused, ClientMsgID: sent.Record.ClientMsgID, Reason: "relay_expired"})
	if src.asked[laneKey{from, to, src.epoch, sent.Record.LaneSeq}] {
		w.event(src, kindReceiptSettled, exportRecord{ChatSeq: sent.Seq, State: statePending}, nil)
		w.tellReceipt(src, sent, statePending, nil)
	}
	return true
}

func (w *world) app(hub, name string) *modelApp {
	for _, a := range w.apps {
		if a.hub == hub && a.name == name {
			return a
		}
	}
	return nil
}

// read hands the application everything its hub holds for it, each message once.
func (w *world) read(a *modelApp) {
	h := w.hubs[a.hub]
	for _, e := range h.events[a.cursor:] {
		a.cursor = e.Seq
		rec := &e.Record
		if e.Kind != kindChatAccepted || rec.Dest != "" || rec.Target != a.name || rec.Sender == a.name {
			continue
		}
		if rec.Origin != nil && h.asked[rec.Origin.lane(h.id)] {
			defer w.say(h, e, stateDeferred) // after the loop: it adds events
			delete(h.asked, rec.Origin.lane(h.id))
		}
		if a.has[rec.Sender+" "+rec.ClientMsgID] {
			continue
		}
		a.has[rec.Sender+" "+rec.ClientMsgID] = true
		w.log(a, clientlog.Entry{
			Kind: clientlog.Received, Sender: rec.Sender, ClientMsgID: rec.ClientMsgID, Digest: payloadDigest(e.body()),
			Seq: e.Seq, MsgID: rec.MsgID,
		})
	}
}

// drain lets everything arrive, and what is said of it.
func (w *world) drain() {
	for range 2 {
		for w.cross("hub-a", "hub-b", false) || w.cross("hub-b", "hub-a", false) {
		}
		for _, a := range w.apps {
			w.read(a)
		}
	}
	for w.cross("hub-a", "hub-b", false) || w.cross("hub-b", "hub-a", false) {
	}
}

// check writes the evidence to files and judges it.
func (w *world) check(t testing.TB, dir string) *Report {
	t.Helper()
	return Check(w.write(t, dir))
}

func (w *world) write(t testing.TB, dir string) Input {
	t.Helper()
	in := Input{ClientsDir: filepath.Join(dir, "clients")}
	if err := os.MkdirAll(in.ClientsDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, a := range w.apps {
		writeLines(t, filepath.Join(in.ClientsDir, fmt.Sprintf("%02d.jsonl", i)), a.log)
	}
	for _, id := range slices.Sorted(maps.Keys(w.hubs)) {
		path := filepath.Join(dir, id+".export")
		writeLines(t, path, w.hubs[id].events)
		in.Exports = append(in.Exports, path)
	}
	return in
}

func writeLines[T any](t testing.TB, path string, entries []T) {
	t.Helper()
	var text []byte
	for _, e := range entries {
		line, err := wire.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
