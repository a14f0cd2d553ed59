package hub

import "fleetrelay/hub/wire"

// small is the part of a command that most share: a nominal weight, no bytes to
// keep, nobody waiting.
type small struct{}

func (small) size() int                 { return 64 }
func (small) moot() bool                { return false }
func (small) evidence() evidence        { return evidence{command: "session"} }
func (small) quarantined(*view, *draft) {}

// bySession is the part that the commands of one socket share. A failure nobody
// foresaw ends that socket (core-wire-v2 section 15).
type bySession struct{ s *session }

func (bySession) size() int            { return 64 }
func (c bySession) moot() bool         { return c.s.ended }
func (c bySession) evidence() evidence { return evidence{source: c.s.name, command: "session"} }
func (c bySession) quarantined(_ *view, d *draft) {
	d.closeAfter(c.s, wire.ReasonInternalError)
}

// connectCommand counts a socket and, on an open hub, welcomes it at once.
type connectCommand struct{ bySession }

func (c *connectCommand) quarantined(_ *view, d *draft) {
	d.alter(arrived{s: c.s})
	d.closeAfter(c.s, wire.ReasonInternalError)
}

func (c *connectCommand) decide(v *view, d *draft) {
	open := !v.secured()
	d.alter(arrived{s: c.s, welcomed: open})
	if open {
		d.tell(c.s, v.welcome(v.ro.sockets+1))
	}
}

// secured says whether agents need a token: as soon as one exists.
func (v *view) secured() bool { return len(v.st.tokens) > 0 }

func (v *view) welcome(sockets int) *frame {
	return &frame{size: 512, build: &wire.Welcome{
		HubID: v.config.self, TimeUS: v.now, ConnectedClients: sockets,
		OnlineAgents: v.fitting(v.ro.online()),
	}}
}

// fitting cuts a list of names to what fits into one frame: agents refuse a larger
// one, and would never be able to connect.
func (v *view) fitting(names []string) []string {
	return cutTo(v.config.frameBytes-1024, names, func(name string) int { return quoted(name) + 3 })
}

// bindCommand is the first frame of a socket: it binds a name, or ends the
// socket (core-wire-v2 sections 3 and 4).
type bindCommand struct {
	bySession
	name        string
	hasToken    bool
	token       [32]byte // SHA-256 of the token given
	isHeartbeat bool
	hb          wire.Heartbeat
	verdict     chan bindVerdict // capacity 1
}

// bindVerdict is what the reader needs to go on.
type bindVerdict struct {
	bound     bool
	principal string
}

// bindAnswered lets the reader go on: the next frame is judged under the name.
type bindAnswered struct {
	c       *bindCommand
	verdict bindVerdict
}

func (b bindAnswered) change(*roster) { b.c.verdict <- b.verdict }

// moot is false: the reader waits for an answer.
func (*bindCommand) moot() bool { return false }

func (c *bindCommand) quarantined(_ *view, d *draft) {
	d.alter(bindAnswered{c: c})
	d.closeAfter(c.s, wire.ReasonInternalError)
}

func (c *bindCommand) decide(v *view, d *draft) {
	principal, tokenID, ok := c.admit(v, d)
	d.alter(bindAnswered{c: c, verdict: bindVerdict{bound: ok, principal: principal}})
	if !ok {
		return
	}
	old := v.ro.byName(c.name)
	logical, _ := wire.LogicalIdentity(c.name)
	d.alter(boundName{s: c.s, name: c.name, logical: logical, tokenID: tokenID, now: v.now, hb: c.hb, replaces: old})
	if !c.s.welcomed {
		d.tell(c.s, v.welcome(v.ro.sockets))
	}
	d.tell(c.s, v.storedNotes(c.s, c.name, d.next-1))
	if held(old) {
		d.closeAfter(old, wire.ReasonSuperseded)
	} else {
		v.announceJoin(d, c.s, c.name)
	}
	c.s.mailbox(v, d, c.name, logical, c.hb)
}

// admit checks in the order of the reference: reserved name, token, held name.
func (c *bindCommand) admit(v *view, d *draft) (principal, tokenID string, ok bool) {
	if c.s.ended {
		return "", "", false
	}
	if bad := wire.ValidLocalName(c.name); bad != nil {
		c.conflict(v, d, bad.Text, bad.Reason)
		return "", "", false
	}
	tokenID, denied := c.authenticate(v)
	if denied != "" {
		d.refused(v, denied, "registration refused", c.name)
		d.tell(c.s, frameItem(&wire.AuthDenied{
			HubID: v.config.self, TimeUS: v.now, Target: c.name, Text: wire.AuthDeniedText(denied, c.name),
		}))
		d.closeAfter(c.s, denied)
		return "", "", false
	}
	if principal = "open"; tokenID != "" {
		principal = "token:" + tokenID
	}
	return principal, tokenID, c.takeName(v, d)
}

// authenticate returns the id of the token, "" on an open hub, or why it does not
// open this hub.
func (c *bindCommand) authenticate(v *view) (tokenID string, denied wire.Reason) {
	if !v.secured() {
		return "", ""
	}
	if !c.hasToken {
		return "", wire.ReasonTokenRequired
	}
	t, ok := v.st.tokenOf(c.token)
	if !ok {
		return "", wire.ReasonTokenInvalid
	}
	if logical, _ := wire.LogicalIdentity(c.name); c.name != t.seat && logical != t.seat {
		return "", wire.ReasonTokenNotForName
	}
	return t.id, ""
}

// held says whether a session keeps its name from others: one that was told to go
// does not, though its socket may take a moment to end.
func held(s *session) bool { return s != nil && !s.ended }

// takeName refuses a held name, or takes it over within the limits.
func (c *bindCommand) takeName(v *view, d *draft) bool {
	if !held(v.ro.byName(c.name)) {
		return true
	}
	if !c.hb.Takeover {
		c.conflict(v, d, wire.NameTakenText(c.name), wire.ReasonNameConflict)
		return false
	}
	refused := v.ro.takeoverVerdict(c.name, v.now)
	if refused != wire.ReasonTakeoverCooldown {
		d.alter(tookOver{name: c.name, now: v.now, refused: refused})
	}
	if refused != "" {
		d.closeAfter(c.s, refused)
	}
	return refused == ""
}

func (c *bindCommand) conflict(v *view, d *draft, text string, reason wire.Reason) {
	d.tell(c.s, frameItem(&wire.NameConflict{HubID: v.config.self, TimeUS: v.now, Target: c.name, Text: text}))
	d.closeAfter(c.s, reason)
}

// registrationExpired closes a socket that has bound no name in time.
type registrationExpired struct{ bySession }

func (c *registrationExpired) decide(v *view, d *draft) {
	switch {
	case c.s.isBound:
	case v.secured():
		d.closeAfter(c.s, wire.ReasonAuthTimeout)
	default:
		d.closeAfter(c.s, wire.ReasonRegistrationTimeout)
	}
}

// malformed answers a frame that could not be read. Before a name is bound it
// also ends the socket.
type malformed struct {
	bySession
	bound bool
	err   *wire.FrameError
	chat  wire.Chat // correlation of a refused chat, if it got that far
}

func (c *malformed) decide(v *view, d *draft) {
	target := wire.TargetAll
	if c.bound && !c.early() {
		target = c.s.name
		d.heard(c.s, v.now, true)
	}
	d.refused(v, c.err.Reason, "frame refused", target)
	d.tell(c.s, frameItem(&wire.ErrorFrame{
		HubID: v.config.self, TimeUS: v.now, Target: target, Text: c.err.Text, Code: c.err.Code(),
		ClientMsgID: c.chat.ClientMsgID, ClientTimestamp: c.chat.ClientTimestamp,
	}))
	switch {
	case c.bound:
	case v.secured():
		d.closeAfter(c.s, wire.ReasonAuthRequired)
	default:
		d.closeAfter(c.s, wire.ReasonRegistrationRequired)
	}
}

// early says that the frame failed before its sender was looked at: such errors
// name nobody.
func (c *malformed) early() bool {
	return c.err.Reason == wire.ReasonMalformedJSON || c.err.Reason == wire.ReasonMalformedFrame
}

// switchName ends a socket that speaks under another name than its own.
type switchName struct {
	bySession
	to string
}

func (c *switchName) decide(v *view, d *draft) {
	d.tell(c.s, frameItem(&wire.NameConflict{
		HubID: v.config.self, TimeUS: v.now, Target: c.s.name,
		Text: wire.NameSwitchText(c.s.name, c.to),
	}))
	d.closeAfter(c.s, wire.ReasonNameSwitch)
}

// heartbeat keeps a session alive; it may change its roles or ask for its
// mailbox.
type heartbeat struct {
	bySession
	hb wire.Heartbeat
}

func (c *heartbeat) decide(v *view, d *draft) {
	d.heard(c.s, v.now, false)
	d.alter(declared{s: c.s, hb: c.hb})
	c.s.mailbox(v, d, c.s.name, c.s.logical, c.hb)
}

// touch is a frame without effect: it only shows that the agent is there.
type touch struct{ bySession }

func (c *touch) decide(v *view, d *draft) { d.heard(c.s, v.now, true) }

// disconnect is the end of a socket.
type disconnect struct{ bySession }

func (*disconnect) moot() bool { return false }

// quarantined lets the name go whatever happened: it has no socket any more.
func (c *disconnect) quarantined(_ *view, d *draft) { d.alter(departed{s: c.s}) }

func (c *disconnect) decide(v *view, d *draft) {
	held := c.s.isBound && v.ro.byName(c.s.name) == c.s
	d.alter(departed{s: c.s})
	if held {
		v.announceLeave(d, c.s)
	}
}

// heard notes a sign of life of a session.
func (d *draft) heard(s *session, now int64, reaction bool) {
	if s != nil {
		d.alter(signOfLife{s: s, now: now, reaction: reaction})
	}
}

type arrived struct {
	s        *session
	welcomed bool
}

func (c arrived) change(r *roster) {
	r.sockets++
	c.s.welcomed = c.welcomed
}

type departed struct{ s *session }

func (c departed) change(r *roster) {
	r.sockets--
	c.s.ended = true
	if c.s.isBound {
		r.unbind(c.s)
	}
}

// ended drops what a socket that was told to go has sent meanwhile.
type ended struct{ s *session }

func (c ended) change(*roster) { c.s.ended = true }

type boundName struct {
	s             *session
	name, logical string
	tokenID       string
	now           int64
	hb            wire.Heartbeat
	replaces      *session
}

func (c boundName) change(r *roster) {
	if c.replaces != nil {
		r.unbind(c.replaces)
	}
	s := c.s
	s.name, s.logical, s.tokenID, s.isBound, s.welcomed = c.name, c.logical, c.tokenID, true, true
	s.lastFrame.Store(c.now)
	s.lastReaction.Store(c.now)
	r.bind(s)
	r.note(c.name, c.now)
	delete(r.dead, c.name)
	declared{s: s, hb: c.hb}.change(r)
}

type declared struct {
	s  *session
	hb wire.Heartbeat
}

func (c declared) change(r *roster) {
	if c.hb.Wake == "" && !c.hb.HasRoles {
		return
	}
	next := *c.s.declared()
	if c.hb.Wake != "" {
		next.wake = c.hb.Wake
	}
	if c.hb.HasRoles {
		next.roles = c.hb.Roles
	}
	r.declare(c.s, &next)
}

type signOfLife struct {
	s        *session
	now      int64
	reaction bool
}

func (c signOfLife) change(r *roster) {
	if !c.s.isBound {
		return
	}
	c.s.lastFrame.Store(c.now)
	r.note(c.s.name, c.now)
	if c.reaction {
		c.s.lastReaction.Store(c.now)
		delete(r.dead, c.s.name)
	}
}

type tookOver struct {
	name    string
	now     int64
	refused wire.Reason
}

func (c tookOver) change(r *roster) { r.noteTakeover(c.name, c.now, c.refused) }
