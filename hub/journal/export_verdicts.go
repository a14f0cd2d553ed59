package journal

import "encoding/hex"

type exportedSaid struct {
	Dest     string            `json:"dest"`
	LaneSeq  uint64            `json:"lane_seq"`
	Verdicts []exportedReceipt `json:"verdicts"`
}

func exportSaid(r *VerdictsSaid) exportedSaid {
	x := exportedSaid{Dest: r.Dest, LaneSeq: r.LaneSeq}
	for i := range r.Verdicts {
		x.Verdicts = append(x.Verdicts, exportReceipt(&r.Verdicts[i]))
	}
	return x
}

type exportedHeard struct {
	Origin   *exportedOrigin   `json:"origin"`
	LaneHash string            `json:"lane_hash"`
	Verdicts []exportedVerdict `json:"verdicts"`
}

type exportedVerdict struct {
	About        uint64         `json:"about"`
	State        string         `json:"state"`
	HubSeq       uint64         `json:"hub_seq"`
	HubMsgID     uint64         `json:"hub_msg_id"`
	Recipients   []string       `json:"recipients"`
	Stale        []string       `json:"stale"`
	Wake         []exportedWake `json:"wake"`
	Reason       string         `json:"reason,omitzero"`
	DeadLettered bool           `json:"dead_lettered,omitzero"`
	ChatSeq      uint64         `json:"chat_seq,omitzero"`
	MsgID        uint64         `json:"msg_id,omitzero"`
	Sender       string         `json:"sender,omitzero"`
	Target       string         `json:"target,omitzero"`
	ClientMsgID  string         `json:"client_msg_id,omitzero"`
	Tells        string         `json:"tells,omitzero"` // what the sender is told, none when nothing
}

func exportHeard(r *VerdictsHeard) exportedHeard {
	x := exportedHeard{Origin: exportOrigin(&r.Origin), LaneHash: hex.EncodeToString(r.LaneHash[:])}
	for i := range r.Verdicts {
		x.Verdicts = append(x.Verdicts, exportVerdict(&r.Verdicts[i]))
	}
	return x
}

func exportVerdict(r *FarVerdict) exportedVerdict {
	x := exportedVerdict{
		About: r.About, State: r.State.String(), HubSeq: r.HubSeq, HubMsgID: r.HubMsgID,
		Recipients: r.Recipients, Stale: r.Stale, Reason: r.Reason, DeadLettered: r.DeadLettered,
		ChatSeq: r.ChatSeq, MsgID: r.MsgID, Sender: r.Sender, Target: r.Target, ClientMsgID: r.ClientMsgID,
	}
	for _, w := range r.Wake {
		x.Wake = append(x.Wake, exportedWake(w))
	}
	if r.Tells != 0 {
		x.Tells = r.Tells.String()
	}
	return x
}
