package wire

import "strconv"

// NameRoles is an agent and the roles it answers to.
type NameRoles struct {
	Name  string
	Roles []string
}

// NameCount is an identity and a number.
type NameCount struct {
	Name  string
	Count uint64
}

// AgentLiveness is what the hub knows of one online agent's life.
type AgentLiveness struct {
	Name          string
	ProvenLive    bool
	HasLiveWaiter bool  // a fresh sidecar is online
	ReactionAgeUS int64 // since its last frame that was not a heartbeat; negative is null
}

// WhoSnapshot answers who_request.
type WhoSnapshot struct {
	HubID            HubID
	TimeUS           int64
	Target           string
	OnlineAgents     []string    // sorted
	AgentRoles       []NameRoles // only agents with roles
	ConnectedClients int
	HubVersion       string
	ConfigEpoch      string
	MailboxPending   []NameCount     // nil is null
	Liveness         []AgentLiveness // empty leaves the member out
	Wake             []NameWake      // known capabilities; empty leaves the member out
}

// Append appends the frame.
func (f *WhoSnapshot) Append(dst []byte) []byte {
	dst = begin(dst, TypeWhoSnapshot, f.HubID, f.TimeUS, f.Target, "Who is online now.")
	dst = appendList(dst, "online_agents", f.OnlineAgents)
	dst = append(appendMember(dst, "agent_roles"), '{')
	for i, r := range f.AgentRoles {
		dst = appendStrings(appendKey(dst, i, r.Name), r.Roles)
	}
	dst = appendInt(append(dst, '}'), "connected_clients", f.ConnectedClients)
	dst = appendText(dst, "hub_version", f.HubVersion)
	dst = appendText(dst, "config_epoch", f.ConfigEpoch)
	dst = f.appendPending(dst)
	dst = f.appendLiveness(dst)
	if len(f.Wake) > 0 {
		dst = appendWakes(dst, "wake_capabilities", f.Wake)
	}
	return append(dst, '}')
}

func (f *WhoSnapshot) appendPending(dst []byte) []byte {
	dst = appendMember(dst, "mailbox_pending")
	if f.MailboxPending == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	for i, p := range f.MailboxPending {
		dst = strconv.AppendUint(appendKey(dst, i, p.Name), p.Count, 10)
	}
	return append(dst, '}')
}

func (f *WhoSnapshot) appendLiveness(dst []byte) []byte {
	if len(f.Liveness) == 0 {
		return dst
	}
	dst = append(appendMember(dst, "agent_liveness"), '{')
	for i, l := range f.Liveness {
		dst = append(appendKey(dst, i, l.Name), `{"proven_live":`...)
		dst = strconv.AppendBool(dst, l.ProvenLive)
		dst = appendBool(dst, "has_live_waiter", l.HasLiveWaiter)
		dst = appendMember(dst, "last_reaction_age")
		if l.ReactionAgeUS < 0 {
			dst = append(dst, "null"...)
		} else {
			dst = AppendSeconds(dst, l.ReactionAgeUS)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// AgentSeen is a name and when the hub last heard from it.
type AgentSeen struct {
	Agent      string
	LastSeenUS int64
}

// DeadLetter counts directed chats to one target that met nobody live.
type DeadLetter struct {
	Target     string
	Count      uint64
	LastUS     int64
	LastSender string
}

// StateSnapshot answers state_request. Claims, resources and relay approvals are
// empty lists: this hub has none.
type StateSnapshot struct {
	HubID       HubID
	TimeUS      int64
	Target      string
	Agents      []AgentSeen // by name
	GeneratedUS int64
	DeadLetters []DeadLetter // largest first
}

// Append appends the frame.
func (f *StateSnapshot) Append(dst []byte) []byte {
	dst = begin(dst, TypeStateSnapshot, f.HubID, f.TimeUS, f.Target, "State of this hub.")
	dst = append(appendMember(dst, "snapshot"), `{"active_claims":[],"agents":[`...)
	for i, a := range f.Agents {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(append(dst, `{"agent":`...), a.Agent)
		dst = append(AppendSeconds(appendMember(dst, "last_seen"), a.LastSeenUS), '}')
	}
	dst = append(dst, `],"resources":[]`...)
	dst = AppendSeconds(appendMember(dst, "generated_at"), f.GeneratedUS)
	dst = append(dst, `,"dead_letters":[`...)
	for i, d := range f.DeadLetters {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(append(dst, `{"target":`...), d.Target)
		dst = appendUint(dst, "count", d.Count)
		dst = AppendSeconds(appendMember(dst, "last_ts"), d.LastUS)
		dst = append(appendText(dst, "last_sender", d.LastSender), '}')
	}
	return append(dst, `],"pending_relay_approvals":[]}}`...)
}
