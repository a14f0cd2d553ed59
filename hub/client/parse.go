package client

import (
	"math"

	"fleetrelay/hub/wire"
)

// parse makes the event of one message that belongs to nobody else any more. Parsing never fails on a member of another
// kind than expected: it counts as absent, as an older client would have it.
func parse(b []byte, lim wire.Limits) Event {
	o, err := wire.ParseObject(b, lim)
	if err != nil {
		return Malformed{Err: err}
	}
	f := frame{o}
	switch t := wire.FrameType(f.text("type")); t {
	case wire.TypeChat:
		return f.chat()
	case wire.TypeWelcome:
		return f.welcome()
	case wire.TypePresenceUpdate:
		return f.presence()
	case wire.TypeDeliveryReceipt:
		return f.receipt()
	case wire.TypeError:
		return f.errorFrame()
	case wire.TypeNameConflict:
		return NameConflict{HubID: f.hub(), Text: f.text("payload")}
	case wire.TypeAuthDenied:
		return AuthDenied{HubID: f.hub(), Text: f.text("payload")}
	case wire.TypeWhoSnapshot:
		return WhoSnapshot{
			HubID: f.hub(), Online: f.list("online_agents"), Connected: f.int("connected_clients"),
			Version: f.text("hub_version"), Raw: o,
		}
	case wire.TypeStateSnapshot:
		snapshot, _ := o.Get("snapshot")
		return StateSnapshot{HubID: f.hub(), Snapshot: snapshot, Raw: o}
	default:
		return Other{Type: t, Raw: o}
	}
}

// frame reads members of an object with the zero value for what is absent or of another kind.
type frame struct{ wire.Object }

func (f frame) text(name string) string {
	v, _ := f.Get(name)
	s, _ := v.Text()
	return s
}

func (f frame) int(name string) int64 {
	v, _ := f.Get(name)
	n, _ := v.Int()
	return n
}

func (f frame) uint(name string) uint64 { return uint64(max(0, f.int(name))) }

func (f frame) bool(name string) bool {
	v, _ := f.Get(name)
	b, _ := v.Bool()
	return b
}

func (f frame) hub() wire.HubID { return wire.HubID(f.text("hub_id")) }

// timeUS is the frame's hub clock in microseconds, 0 when absent.
func (f frame) timeUS() int64 {
	v, _ := f.Get("timestamp")
	s, _ := v.Float()
	if us := math.Round(s * 1e6); math.Abs(us) < 1<<62 {
		return int64(us)
	}
	return 0
}

func (f frame) list(name string) []string {
	v, ok := f.Get(name)
	if !ok || v.Kind() != '[' {
		return nil
	}
	var out []string
	if wire.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}

func (f frame) welcome() Welcome {
	w := Welcome{
		HubID: f.hub(), Protocol: 1, Connected: f.int("connected_clients"),
		Online: f.list("online_agents"), TimeUS: f.timeUS(), Raw: f.Object,
	}
	v, _ := f.Get("protocol_version")
	if n, ok := v.Int(); ok {
		w.Protocol = n
	}
	return w
}

func (f frame) presence() Presence {
	return Presence{
		HubID: f.hub(), Event: wire.PresenceEvent(f.text("event")), Agent: f.text("agent"),
		Online: f.list("online_agents"), TimeUS: f.timeUS(),
	}
}

func (f frame) errorFrame() ErrorFrame {
	ts, _ := f.Get("client_timestamp")
	return ErrorFrame{
		HubID: f.hub(), Text: f.text("payload"), Code: wire.Reason(f.text("error_code")),
		ClientMsgID: f.text("client_msg_id"), ClientTimestamp: ts, TimeUS: f.timeUS(), Raw: f.Object,
	}
}

func (f frame) receipt() Receipt {
	return Receipt{
		HubID: f.hub(), MessageTarget: f.text("message_target"), MessageID: f.uint("message_id"), MessageSeq: f.uint("message_seq"),
		Delivered: f.bool("delivered"), Deferred: f.bool("deferred"), Expired: f.bool("expired"), DeadLettered: f.bool("dead_lettered"),
		Recipients: f.list("recipients"), Matched: f.list("matched_recipients"), Stale: f.list("stale_recipients"),
		Reason: wire.Reason(f.text("reason")), NotificationID: f.text("receipt_notification_id"),
		ClientMsgID: f.text("client_msg_id"), RemoteHub: f.text("remote_hub"), TimeUS: f.timeUS(), Raw: f.Object,
	}
}

// chat reads the members in one pass: it is the frame that counts for speed.
func (f frame) chat() Chat {
	c := Chat{TimeUS: f.timeUS(), Raw: f.Object}
	for i := range f.Members {
		m := &f.Members[i]
		switch m.Name {
		case "sender":
			c.Sender, _ = m.Value.Text()
		case "target":
			c.Target, c.HasTarget = m.Value.Text()
		case "payload":
			c.Payload = m.Value
		case "hub_id":
			s, _ := m.Value.Text()
			c.HubID = wire.HubID(s)
		case "client_msg_id":
			c.ClientMsgID, _ = m.Value.Text()
		case "seq":
			n, _ := m.Value.Int()
			c.Seq = uint64(max(0, n))
		case "msg_id":
			n, _ := m.Value.Int()
			c.MsgID = uint64(max(0, n))
		case "replayed":
			c.Replayed, _ = m.Value.Bool()
		}
	}
	return c
}
