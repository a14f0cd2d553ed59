package relay

import (
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// write sends whatever is ready, flushes when nothing is, and waits for a wake, until the link ends; then it says
// goodbye where one is owed.
func (l *link) write() {
	if err := l.pump(); err != nil {
		l.cancel(err)
	}
	if l.ctx.Err() == nil || !l.owesGoodbye() {
		return
	}
	bye := frame.Bye{Reason: l.ending().reason}
	if _, err := l.conn.Write(bye.Append(nil)); err == nil {
		_ = l.conn.Flush() // who cannot hear it will see the connection end
	}
}

func (l *link) pump() error {
	if !l.dialled {
		if _, err := l.conn.Write(l.ours.Append(nil)); err != nil {
			return lostOr(err)
		}
	}
	if err := l.writeProfile(); err != nil {
		return err
	}
	for {
		if err := l.drain(); err != nil {
			return err
		}
		if err := l.conn.Flush(); err != nil {
			return lostOr(err)
		}
		select {
		case <-l.kick:
		case <-l.ctx.Done():
			return nil
		}
	}
}

// drain writes until nothing is ready. Acks and beats go between any two pages, so that they never wait behind the lane.
func (l *link) drain() error {
	for l.ctx.Err() == nil {
		if err := l.writeAck(); err != nil {
			return err
		}
		if err := l.writeBeat(); err != nil {
			return err
		}
		more, err := l.writePage()
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (l *link) writeAck() error {
	for {
		ack, due := l.acks.next()
		if !due {
			return nil
		}
		l.scratch = ack.Append(l.scratch[:0])
		if _, err := l.conn.Write(l.scratch); err != nil {
			return lostOr(err)
		}
	}
}

// writePage sends the next records if there are some and the window has room; more says that another call may find more.
func (l *link) writePage() (more bool, err error) {
	sent, room := l.ready()
	if room == 0 {
		return false, nil
	}
	recs, err := l.core.Outbox(l.peer, sent, min(room, pageRecords), pageBytes)
	if err != nil {
		return false, refuse(reasonOf(err, wire.ReasonInternalError), "reading the lane: %v", err)
	}
	recs = recs[:l.fitting(recs)]
	if len(recs) == 0 {
		return false, nil
	}
	if err := l.fill(recs, sent); err != nil {
		return false, err
	}
	if l.batch.Len() == 0 {
		l.hold(sent + 1)
		return false, nil
	}
	l.mu.Lock()
	l.window.add(recs[l.batch.Len()-1].Seq, l.batch.Bytes()) // before the bytes leave: the ack may be quicker than this line
	l.mu.Unlock()
	err = l.batch.Chunks(func(p []byte) error {
		_, err := l.conn.Write(p)
		return err
	})
	if err != nil {
		return false, lostOr(err)
	}
	return true, nil
}

// ready is the last record sent and how many may follow now.
func (l *link) ready() (sent uint64, room int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.accord.opened || l.window.sent >= l.head.Load() {
		return l.window.sent, 0
	}
	return l.window.sent, l.window.room()
}

// fill builds the frame, of as many records as the profile lets into one. A lane with a gap is a fault of this side's core: nothing of it may leave.
func (l *link) fill(recs []hub.OutRecord, sent uint64) error {
	l.batch.Reset(sent + 1)
	for i := range recs {
		r := &recs[i]
		if want := sent + 1 + uint64(i); r.Seq != want || r.Origin.LaneSeq != want {
			return refuse(wire.ReasonInternalError, "record %d of the lane where %d should be", r.Seq, want)
		}
		if r.Origin.EpochID != l.ours.EpochID {
			return refuse(wire.ReasonRewound, "the lane to the peer was reconciled while the link was up")
		}
		o := frame.Origin{
			Kind: r.Kind, Hub: r.Origin.Hub, Epoch: r.Origin.Epoch, EpochID: r.Origin.EpochID, Seq: r.Seq, MsgID: r.Origin.MsgID,
			AcceptedUS: r.Origin.AcceptedUS, Sender: r.Origin.Sender, Principal: r.Origin.Principal,
			Target: r.Origin.Target, ClientMsgID: r.Origin.ClientMsgID, Digest: r.Origin.Digest,
		}
		l.batch.Add(&o, r.Body)
		if uint64(l.batch.Bytes()) > l.accord.profile.MaxFrameBytes {
			l.batch.Drop()
			return nil
		}
	}
	return nil
}
