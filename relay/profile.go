package relay

import (
	"fleetrelay/federation"
	"fleetrelay/hub"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/frame"
)

// accord is what both sides take a link to admit. Until they have said the same, and when they do not, the link carries
// no records: control frames only.
type accord struct {
	profile federation.Profile // ours, from both offers
	digest  [32]byte           // of it
	theirs  [32]byte           // digest that the peer said
	heard   bool               // it said one
	opened  bool               // our core has it: records may leave
	held    uint64             // first record of ours that the profile does not admit, 0 if none waits for it
}

func newAccord(version frame.Version, ours, theirs federation.Ceiling) accord {
	p := federation.Admit(int(version), ours, theirs)
	return accord{profile: p, digest: p.Digest()}
}

// agreed says that both sides take the link for the same.
func (a *accord) agreed() bool { return a.heard && a.theirs == a.digest }

// differs says that they do not.
func (a *accord) differs() bool { return a.heard && a.theirs != a.digest }

// admits says whether the profile lets a record pass.
func (a *accord) admits(r *hub.OutRecord) bool {
	return a.profile.Chat && uint64(len(r.Body)) <= a.profile.MaxBodyBytes
}

// writeProfile says what we take the link to admit.
func (l *link) writeProfile() error {
	p := frame.Profile{Digest: l.accord.digest}
	if _, err := l.conn.Write(p.Append(nil)); err != nil {
		return lostOr(err)
	}
	return nil
}

// onProfile compares what the peer takes the link to admit.
func (l *link) onProfile(f frame.Frame) error {
	p, err := frame.ParseProfile(f)
	if err != nil {
		return lostOr(err)
	}
	l.mu.Lock()
	again := l.accord.heard
	l.accord.heard, l.accord.theirs = true, p.Digest
	agreed := l.accord.agreed()
	l.mu.Unlock()
	switch {
	case again:
		return refuse(wire.ReasonLinkProtocol, "a second profile")
	case agreed:
		close(l.agreed)
	default:
		l.note(l.mismatch())
	}
	return nil
}

// mismatch tells what each side takes the link to admit.
func (l *link) mismatch() ended {
	why := refuse(wire.ReasonProfileMismatch, "this hub takes the link to admit %s, digest %x; the peer has digest %x",
		l.accord.profile.Canonical(), l.accord.digest, l.accord.theirs)
	return ended{link: l, reason: why.reason, detail: why.detail}
}

// open hands the agreed profile to the core and lets the lane go: what the core knows of the link is durable before the
// first record leaves.
func (l *link) open() {
	select {
	case <-l.agreed:
	case <-l.ctx.Done():
		return
	}
	if err := l.core.ProfileAgreed(l.ctx, l.peer, l.accord.profile); err != nil {
		l.end(refuse(reasonOf(err, wire.ReasonInternalError), "noting the profile: %v", err))
		return
	}
	l.leaving = true
	if err := l.core.LinkOpened(l.ctx, l.peer, hub.LinkInfo{Address: l.conn.RemoteAddr(), Dialled: l.dialled}); err != nil {
		l.end(refuse(reasonOf(err, wire.ReasonInternalError), "noting the link: %v", err))
		return
	}
	l.mu.Lock()
	l.accord.opened = true
	l.mu.Unlock()
	l.wake()
}

// leave tells the core how far the link came. Nothing of it runs any more.
func (l *link) leave() {
	if l.leaving {
		l.core.LinkClosed(l.peer, l.window.sent, l.ending().reason)
	}
}

// fitting is how many of the records, from the first, the profile admits. The first that it does not waits, and those
// behind it: a lane has no gaps. It is shown, and ends as the outbox decides.
func (l *link) fitting(recs []hub.OutRecord) int {
	for i := range recs {
		if !l.accord.admits(&recs[i]) {
			l.hold(recs[i].Seq)
			return i
		}
	}
	l.hold(0)
	return len(recs)
}

// hold notes the record that waits for another profile.
func (l *link) hold(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accord.held = seq
}

// canTake says whether records of the peer may come now.
func (l *link) canTake() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.accord.agreed() {
		return refuse(wire.ReasonLinkProtocol, "records without an agreed profile")
	}
	return nil
}
