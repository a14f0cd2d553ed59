package checker

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/clientlog"
)

// maxExportLine bounds one exported event: the largest body the node takes, escaped, and its header.
const maxExportLine = 8 << 20

// exportLine is the part of one exported event that the checker reads. The checker reads the export as text of its
// own and not through the journal's types: a fault in those must not blind it.
type exportLine struct {
	Seq    uint64       `json:"seq"`
	Kind   string       `json:"kind"`
	TimeUS int64        `json:"time_us"`
	Digest string       `json:"digest"`
	Body   *string      `json:"body,omitzero"` // absent unless the export was made with bodies
	Base64 bool         `json:"base64,omitzero"`
	Record exportRecord `json:"record"`
}

// body is the exported body's bytes, nil without one or when they are not readable, which then differ from the digest.
func (e *exportLine) body() []byte {
	if e.Body == nil {
		return nil
	}
	if !e.Base64 {
		return []byte(*e.Body)
	}
	body, err := base64.StdEncoding.DecodeString(*e.Body)
	if err != nil {
		return []byte{}
	}
	return body
}

// exportRecord is the union of the members of the records that the rules need.
type exportRecord struct {
	HubID       string     `json:"hub_id"`
	Number      uint64     `json:"number"`
	ID          string     `json:"id"`
	MsgID       uint64     `json:"msg_id"`
	Sender      string     `json:"sender"`
	Target      string     `json:"target"`
	ClientMsgID string     `json:"client_msg_id"`
	Dest        string     `json:"dest"`
	LaneSeq     uint64     `json:"lane_seq"`
	Origin      *originRow `json:"origin"`
	ChatSeq     uint64     `json:"chat_seq"`
	State       string     `json:"state"`
	Peer        string     `json:"peer"`
	Reason      string     `json:"reason"`
	About       uint64     `json:"about"`
	HubSeq      uint64     `json:"hub_seq"`
	Recipients  []string   `json:"recipients"`
	Tells       string     `json:"tells"`
	// Verdicts are those that one record of a lane carries.
	Verdicts []exportRecord `json:"verdicts"`
}

// originRow is the origin block of a record that came over a link.
type originRow struct {
	Hub        string `json:"hub"`
	Epoch      uint64 `json:"epoch"`
	EpochID    string `json:"epoch_id"`
	LaneSeq    uint64 `json:"lane_seq"`
	MsgID      uint64 `json:"msg_id"`
	AcceptedUS int64  `json:"accepted_us"`
	Sender     string `json:"sender"`
	Target     string `json:"target"`
}

// The kinds of event that the rules read, as exported.
const (
	kindEpochStarted   = "epoch_started"
	kindChatAccepted   = "chat_accepted"
	kindReceiptSettled = "receipt_settled"
	kindVerdictsSaid   = "verdicts_said"
	kindVerdictsHeard  = "verdicts_heard"
	kindInboundRefused = "inbound_refused"
	kindLaneAcked      = "lane_acked"
	kindRemoteRefused  = "remote_refused"
	kindWithdrawn      = "record_withdrawn"
)

// readExport indexes one export. Findings that need nothing but this journal are reported at once.
func readExport(r *Report, in io.Reader) (*journal, error) {
	j := newJournal()
	err := clientlog.Lines(in, maxExportLine, func(number int, line []byte) error {
		var e exportLine
		if err := wire.UnmarshalLax(line, &e); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		return j.add(r, &e)
	})
	if err != nil {
		return nil, err
	}
	if j.hub == "" {
		return nil, errNoEpoch
	}
	return j, nil
}

var errNoEpoch = errors.New("no epoch is started in this export, so it names no hub")

func (j *journal) add(r *Report, e *exportLine) error {
	if err := j.advance(r, e); err != nil {
		return err
	}
	r.Totals.Events++
	switch e.Kind {
	case "":
		return fmt.Errorf("seq %d: the event has no kind", e.Seq)
	case kindEpochStarted:
		return j.addEpoch(e)
	case kindChatAccepted:
		j.addChat(r, e)
	case kindReceiptSettled:
		j.settled[e.Record.ChatSeq] = append(j.settled[e.Record.ChatSeq], e.Record.State)
	case kindVerdictsSaid:
		j.addSaid(r, e)
	case kindVerdictsHeard:
		j.addHeard(r, e)
	case kindInboundRefused:
		if o := e.Record.Origin; o != nil {
			j.refusedIn[o.lane(j.hub)] = e.Record.Reason
		}
	case kindLaneAcked:
		j.acked[e.Record.Peer] = max(j.acked[e.Record.Peer], e.Record.LaneSeq)
	case kindRemoteRefused:
		j.refusedOut[laneKey{j.hub, e.Record.Peer, j.epoch, e.Record.LaneSeq}] = e.Record.Reason
	case kindWithdrawn:
		j.addWithdrawn(e)
	}
	return nil
}

// addWithdrawn reads the end of a chat that never left: of this hub, or of another one, whose record then only takes its
// number here.
func (j *journal) addWithdrawn(e *exportLine) {
	rec := &e.Record
	if rec.Origin != nil {
		j.refusedIn[rec.Origin.lane(j.hub)] = rec.Reason
		return
	}
	lane := laneKey{j.hub, rec.Peer, j.epoch, rec.LaneSeq}
	j.refusedOut[lane], j.withdrawn[lane] = rec.Reason, true
}

// advance holds the sequence: dense from 1. A repeated seq is judged, a gap makes the export unusable.
func (j *journal) advance(r *Report, e *exportLine) error {
	switch {
	case e.Seq == j.head+1:
		j.head = e.Seq
	case e.Seq > 0 && e.Seq <= j.head:
		r.add(Finding{Word: DeliveredTwice, Hub: j.hub, Seq: e.Seq, Detail: "the journal holds this seq twice"})
	default:
		return fmt.Errorf("seq %d follows %d: the export has a gap", e.Seq, j.head)
	}
	return nil
}

func (j *journal) addEpoch(e *exportLine) error {
	if j.hub != "" && j.hub != e.Record.HubID {
		return fmt.Errorf("seq %d: one export of two hubs, %q and %q", e.Seq, j.hub, e.Record.HubID)
	}
	j.hub, j.epoch = e.Record.HubID, e.Record.ID
	j.epochs[j.epoch] = e.Record.Number
	return nil
}

func (j *journal) addChat(r *Report, e *exportLine) {
	rec := &e.Record
	c := &chat{
		seq: e.Seq, msgID: rec.MsgID, sender: rec.Sender, target: rec.Target, id: rec.ClientMsgID,
		timeUS: e.TimeUS, digest: e.Digest, dest: rec.Dest, origin: rec.Origin,
	}
	r.Totals.Records++
	if body := e.body(); body != nil {
		c.payload = payloadDigest(body)
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != e.Digest {
			r.add(Finding{Word: Altered, Hub: j.hub, Seq: e.Seq, From: c.sender, ID: c.id, Detail: "the body in the journal has another digest than its header"})
		}
	}
	if first, taken := j.msgIDs[c.msgID]; taken {
		r.add(Finding{Word: DeliveredTwice, Hub: j.hub, Seq: c.seq, From: c.sender, ID: c.id, Detail: fmt.Sprintf("msg_id %d has the seqs %d and %d", c.msgID, first, c.seq)})
	}
	j.chats[c.seq], j.msgIDs[c.msgID] = c, c.seq
	if c.dest != "" {
		c.lane = laneKey{j.hub, c.dest, j.epoch, rec.LaneSeq}
		j.putLane(r, j.out, c)
	}
	if c.origin != nil {
		c.lane = c.origin.lane(j.hub)
		j.putLane(r, j.in, c)
	}
}

// putLane holds one record per lane sequence, in the order of the lane.
func (j *journal) putLane(r *Report, lanes map[laneKey]*chat, c *chat) {
	base := Finding{Hub: j.hub, Seq: c.seq, From: c.sender, ID: c.id}
	if first := lanes[c.lane]; first != nil {
		r.add(base.as(DeliveredTwice, fmt.Sprintf("record %d of the lane from %s has the seqs %d and %d", c.lane.seq, c.lane.origin, first.seq, c.seq)))
		return
	}
	lanes[c.lane] = c
	j.grow(r, base, c.lane)
}

// grow holds the order of a lane, whatever its records are.
func (j *journal) grow(r *Report, base Finding, lane laneKey) {
	end := laneKey{lane.origin, lane.dest, lane.epoch, 0}
	if last := j.laneEnd[end]; lane.seq < last {
		r.add(base.as(Order, fmt.Sprintf("record %d of the lane from %s to %s stands after record %d", lane.seq, lane.origin, lane.dest, last)))
	}
	j.laneEnd[end] = max(j.laneEnd[end], lane.seq)
}

func (o *originRow) lane(dest string) laneKey {
	return laneKey{o.Hub, dest, o.EpochID, o.LaneSeq}
}

// payloadDigest is clientlog.Digest of the payload inside a carried body, "" when there is none to compare.
func payloadDigest(body []byte) string {
	object, err := wire.ParseObject(body, wire.Limits{})
	if err != nil {
		return ""
	}
	payload, ok := object.Get("payload")
	if !ok {
		return ""
	}
	if text, isText := payload.Text(); isText {
		return clientlog.Digest([]byte(text))
	}
	return clientlog.Digest(payload)
}
