package hub

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// Each body below returns what it found wrong, "" for nothing, and takes the
// decoder under test, so that a test can hand it a planted bug and see it found.

type stateDecoder func(wire.HubID, []byte) (*state, error)

// stateFault holds that a snapshot is refused with its own error, or is the one
// encoding of a state in which every receipt can be found and settled.
func stateFault(b []byte, decode stateDecoder) string {
	st, err := decode("hub-1", b)
	if err != nil {
		if !errors.Is(err, errHotState) {
			return fmt.Sprintf("refused without an error of its own: %v", err)
		}
		return ""
	}
	if again := st.encode(); !bytes.Equal(again, b) {
		return fmt.Sprintf("accepted %x, which is written %x", b, again)
	}
	if st.trust.Self() != "hub-1" || len(st.known.byName) > knownIdentities {
		return "another hub's state, or more identities than are remembered"
	}
	queues := []*receiptQueue{st.pending}
	for _, l := range st.lanes {
		queues = append(queues, l.pending)
	}
	for _, q := range queues {
		for q.len() > 0 {
			p, before := q.oldest(), q.len()
			q.remove(p.chatSeq)
			if q.len() != before-1 {
				return fmt.Sprintf("the receipt of chat %d cannot be settled", p.chatSeq)
			}
		}
	}
	for st.waits.len() > 0 {
		w, before := st.waits.oldest(), st.waits.len()
		st.waits.remove(w.peer, w.laneSeq)
		if st.waits.len() != before-1 {
			return fmt.Sprintf("the wait for record %d of %s cannot be ended", w.laneSeq, w.peer)
		}
	}
	return ""
}

// stateSeeds are states with nothing, with one and with two of each, and what a
// careless decoder would take as well.
func stateSeeds(t testing.TB) [][]byte {
	empty, one, two := newState("hub-1").encode(), fullState(t, 1).encode(), fullState(t, 2).encode()
	noFacts := fields(bytes.Clone(empty))
	noFacts.message(11, func(m *fields) { m.message(20, func(m *fields) { m.text(1, "no record") }) })
	future := fields(bytes.Clone(one))
	future.num(99, 1)
	short := fields(bytes.Clone(empty))
	short.message(9, func(m *fields) { m.text(1, "t"); m.text(2, "a"); m.text(3, ""); m.bytes(4, []byte{1}); m.num(5, 1) })
	return [][]byte{nil, empty, one, two, append(bytes.Clone(one), one...), one[:len(one)-1], twoReceipts().encode(), twoWaits().encode(), future, short, noFacts}
}

// twoReceipts is a state no hub comes to: two receipts wait for one chat.
func twoReceipts() *state {
	st := newState("hub-1")
	st.pending.push(&pendingReceipt{chatSeq: 7})
	st.pending.push(&pendingReceipt{chatSeq: 7})
	return st
}

// twoWaits is a state no hub comes to: one record is waited for twice.
func twoWaits() *state {
	st := newState("hub-1")
	st.waits.push(&remoteWait{peer: "far", laneSeq: 3, chatSeq: 7})
	st.waits.push(&remoteWait{peer: "far", laneSeq: 3, chatSeq: 8})
	return st
}

func fullState(t testing.TB, n int) *state {
	st := newState("hub-1")
	st.epoch, st.head, st.lastMsg = Epoch{Number: 3, ID: [16]byte{1, 2}}, 900, 800
	pattern, err := wire.ParsePattern("proj/*")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := fmt.Sprintf("proj/%d", i)
		hub := wire.HubID(fmt.Sprintf("far-%d", i))
		st.known.use(name, uint64(i))
		st.pending.push(&pendingReceipt{chatSeq: uint64(i + 5), msgID: 4, sender: name, target: "proj/x", clientMsgID: "c"})
		st.tokens[name] = token{id: name, seat: name, by: "admin:x", hash: [32]byte{byte(i)}, createdUS: 1796063246832343}
		st.trust = st.trust.With(federation.Peer{
			Hub: hub, Endpoints: []string{"far:1", "far:2"}, Pins: []federation.Pin{{byte(i + 1)}}, MayReach: []wire.Pattern{pattern}, By: "Ann", User: "root", AddedUS: 9,
			Invite: []byte("sixteen bytes of"),
		})
		st.fillCeremony(byte(i))
		st.lanes[hub] = &lane{
			peer: hub, outHead: 300, outHash: [32]byte{1}, outBytes: 9000, ackBytes: 40, acked: 2, ackHash: [32]byte{2}, in: Cursor{EpochID: [16]byte{3}, Seq: 4, Hash: [32]byte{5}},
			refused: []Refusal{{Seq: 3, Reason: wire.ReasonNotPermitted}}, pending: newReceiptQueue(),
			marks: laneMarks{sent: 7, up: i > 0, aged: 9, freed: 50, freedFrom: 40},
			facts: linkFacts{
				agreed:  Agreed{Number: 2, Profile: federation.Profile{Version: 1, Ceiling: federation.BuildCeiling(1 << 20)}},
				backoff: Backoff{Attempts: uint64(i), Reason: wire.ReasonRewound, NextUS: 1796063246832343, RevokedUS: int64(i)},
				lane:    laneFacts{out: LaneEpoch{Epoch: Epoch{Number: 2, ID: [16]byte{9}}, Base: uint64(i), BaseHash: [32]byte{8}}, adopts: i > 0, resumes: i == 0, deaf: 7},
			},
		}
		st.lanes[hub].pending.push(&pendingReceipt{chatSeq: 70, msgID: 4, sender: "p/a@far", target: "proj/x", peer: hub, about: 9})
		st.waits.push(&remoteWait{peer: hub, laneSeq: 5, chatSeq: uint64(i + 9), acceptedUS: 1796063246832343, told: i > 0})
	}
	return st
}

// fillCeremony adds one of everything that is about hubs that are not approved.
func (st *state) fillCeremony(i byte) {
	st.ceremony.invites = append(st.ceremony.invites, invite{
		id: fmt.Sprint(i), hash: [32]byte{i}, by: "Ann", user: "root", createdUS: 1, expiresUS: 2, usedBy: federation.Pin{i}, usedByHub: "oak", withdrawn: i > 1,
	})
	st.ceremony.pending = append(st.ceremony.pending, federation.Pending{
		Hub: "oak", Pin: federation.Pin{i, 1}, Endpoints: []string{"oak:1", "oak:2"}, Host: "192.0.2.1", Joined: true, Invited: true,
		InviteID: "0", Invite: []byte("sixteen bytes of"), FirstUS: 3, LastUS: 4, ExpiresUS: 5, Times: 6,
	})
	gone := federation.Peer{Hub: wire.HubID(fmt.Sprintf("gone-%d", i)), Pins: []federation.Pin{{i, 2}}, AddedUS: 7}
	st.trust = st.trust.With(gone).Revoke(gone.Hub, federation.Revocation{RevokedBy: "Ann", RevokedUser: "root", Why: "over", RevokedUS: 8})
	st.trust = st.trust.Reject(federation.RejectedPin{Hub: "elm", Pin: federation.Pin{9 - i, 3}, Endpoints: []string{"elm.example:1"}, Invite: []byte("sixteen bytes of"), By: "Ann", User: "root", AtUS: 9})
}

func FuzzState(f *testing.F) {
	for _, b := range stateSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if fault := stateFault(b, decodeState); fault != "" {
			t.Fatal(fault)
		}
	})
}

// rowDecoder reads a table row and writes it again; ok is false for no row.
type rowDecoder func(row []byte) (again []byte, ok bool)

func mailboxAgain(row []byte) ([]byte, bool) {
	sender, part, ok := parseMailboxRow(row)
	return mailboxRow(sender, part), ok
}

func outboxAgain(row []byte) ([]byte, bool) {
	r, ok := parseOutboxRow(row)
	return r.append(nil)[:min(len(row), outboxRowBytes)], ok // a row of an older build ends earlier
}

// rowFault holds that a row that is read is the one that would be written.
func rowFault(row []byte, decode rowDecoder) string {
	if again, ok := decode(row); ok && !bytes.Equal(again, row) {
		return fmt.Sprintf("accepted %x, which is written %x", row, again)
	}
	return ""
}

func laneRow() []byte { return outboxRow{seq: 7, hash: [32]byte{1}, bytes: 300}.append(nil) }

func rowSeeds() [][]byte {
	return [][]byte{
		nil,
		mailboxRow("proj/a", "proj/*"),
		mailboxRow("", ""),
		mailboxRow(string(bytes.Repeat([]byte("x"), 200)), "p"),
		{0x80, 0x00},
		{0x05, 'a'},
		bytes.Repeat([]byte{0xff}, 11),
		laneRow(),
		append(laneRow(), 0),
		laneRow()[:oldRowBytes],
		append(laneRow()[:outboxRowBytes-1], 99),
	}
}

func FuzzRows(f *testing.F) {
	for _, row := range rowSeeds() {
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		if fault := rowFault(row, mailboxAgain) + rowFault(row, outboxAgain); fault != "" {
			t.Fatal(fault)
		}
	})
}

// Every fuzz body finds planted bugs among its own seeds, and nothing in what ships.
func TestFuzzBodiesFindPlantedBugs(t *testing.T) {
	overStates := func(decode stateDecoder) (faults string) {
		for _, b := range stateSeeds(t) {
			faults += stateFault(b, decode)
		}
		return faults
	}
	overRows := func(decode rowDecoder) (faults string) {
		for _, b := range rowSeeds() {
			faults += rowFault(b, decode)
		}
		return faults
	}
	if faults := overStates(decodeState) + overRows(mailboxAgain) + overRows(outboxAgain); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	for name, decode := range map[string]stateDecoder{
		"a rest is passed over": func(id wire.HubID, b []byte) (*state, error) {
			for n := len(b); n > 0; n-- {
				if st, err := decodeState(id, b[:n]); err == nil {
					return st, nil
				}
			}
			return nil, errHotState
		},
		"two waits for one record": func(id wire.HubID, b []byte) (*state, error) {
			if st := twoWaits(); bytes.Equal(b, st.encode()) {
				return st, nil
			}
			return decodeState(id, b)
		},
		"two receipts of one chat": func(id wire.HubID, b []byte) (*state, error) {
			if st := twoReceipts(); bytes.Equal(b, st.encode()) {
				return st, nil
			}
			return decodeState(id, b)
		},
		"an error of the library": func(id wire.HubID, b []byte) (*state, error) {
			st, err := decodeState(id, b)
			if err != nil {
				err = protowire.ParseError(-1)
			}
			return st, err
		},
	} {
		if overStates(decode) == "" {
			t.Errorf("state: %s: not found", name)
		}
	}
	for name, decode := range map[string]rowDecoder{
		"a length in a longer form": func(b []byte) ([]byte, bool) {
			n, size := binary.Uvarint(b)
			if size <= 0 || n > uint64(len(b)-size) {
				return nil, false
			}
			return mailboxRow(string(b[size:size+int(n)]), string(b[size+int(n):])), true
		},
		"a rest is passed over": func(b []byte) ([]byte, bool) { return outboxAgain(b[:min(len(b), outboxRowBytes)]) },
	} {
		if overRows(decode) == "" {
			t.Errorf("row: %s: not found", name)
		}
	}
}
