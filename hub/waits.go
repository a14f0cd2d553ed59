package hub

import (
	"container/list"

	"fleetrelay/hub/wire"
)

const (
	// remoteWaits bounds the chats whose senders wait for another hub's verdict.
	remoteWaits = 1 << 14
	// remotePatience is how long a sender waits for the far verdict before it is
	// told what this hub knows, in microseconds.
	remotePatience = 5 * secondUS
)

// remoteWait is a chat for another hub whose sender asked for a receipt. What the
// chat is, is read from its event when it is needed.
type remoteWait struct {
	peer             wire.HubID
	laneSeq, chatSeq uint64
	acceptedUS       int64
	told             bool // the sender has got its immediate receipt
}

// remoteWaitList holds them in the order of their chats, and those that nobody was
// told about in a list of their own.
type remoteWaitList struct {
	all, fresh *list.List // of *remoteWait, oldest first
	byLane     map[laneNumber]*waitPlace
}

// laneNumber is one record of our lane to one peer.
type laneNumber struct {
	peer wire.HubID
	seq  uint64
}

type waitPlace struct{ all, fresh *list.Element } // fresh is nil once told

func newRemoteWaits() *remoteWaitList {
	return &remoteWaitList{all: list.New(), fresh: list.New(), byLane: map[laneNumber]*waitPlace{}}
}

func (q *remoteWaitList) len() int { return q.all.Len() }

func (q *remoteWaitList) get(peer wire.HubID, laneSeq uint64) *remoteWait {
	if p := q.byLane[laneNumber{peer, laneSeq}]; p != nil {
		return p.all.Value.(*remoteWait)
	}
	return nil
}

func (q *remoteWaitList) push(w *remoteWait) {
	p := &waitPlace{all: q.all.PushBack(w)}
	if !w.told {
		p.fresh = q.fresh.PushBack(w)
	}
	q.byLane[laneNumber{w.peer, w.laneSeq}] = p
}

// tell notes that the sender has its immediate receipt.
func (q *remoteWaitList) tell(peer wire.HubID, laneSeq uint64) {
	p := q.byLane[laneNumber{peer, laneSeq}]
	if p == nil || p.fresh == nil {
		return
	}
	q.fresh.Remove(p.fresh)
	p.fresh = nil
	p.all.Value.(*remoteWait).told = true
}

func (q *remoteWaitList) remove(peer wire.HubID, laneSeq uint64) {
	at := laneNumber{peer, laneSeq}
	p := q.byLane[at]
	if p == nil {
		return
	}
	q.all.Remove(p.all)
	if p.fresh != nil {
		q.fresh.Remove(p.fresh)
	}
	delete(q.byLane, at)
}

func (q *remoteWaitList) oldest() *remoteWait {
	if e := q.all.Front(); e != nil {
		return e.Value.(*remoteWait)
	}
	return nil
}

// due lists, oldest first, at most limit waits nobody was told about that are as old
// as patience, or from a clock that has since been set back by as much.
func (q *remoteWaitList) due(nowUS int64, limit int) (out []*remoteWait) {
	for e := q.fresh.Front(); e != nil && len(out) < limit; e = e.Next() {
		w := e.Value.(*remoteWait)
		if age := nowUS - w.acceptedUS; age < remotePatience && age > -remotePatience {
			break
		}
		out = append(out, w)
	}
	return out
}
