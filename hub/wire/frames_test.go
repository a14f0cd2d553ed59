package wire

import (
	"strings"
	"testing"
)

// Golden bytes of every hub frame. The order of members is ours; clients read names.
func TestHubFrames(t *testing.T) {
	const us = 1796063246832343
	const tail = `"timestamp":1796063246.832343,"hub_id":"hub-1"`
	type frame interface{ Append([]byte) []byte }
	for _, tc := range []struct {
		name string
		f    frame
		want string
	}{
		{
			"welcome", &Welcome{"hub-1", us, 2, []string{"a", `b"c`}},
			`{"sender":"SynapseHub","target":"self","type":"welcome","payload":"Connected to the hub.",` + tail +
				`,"connected_clients":2,"online_agents":["a","b\"c"],"protocol_version":2}`,
		},
		{
			"welcome to an empty hub", &Welcome{"hub-1", us, 1, nil},
			`{"sender":"SynapseHub","target":"self","type":"welcome","payload":"Connected to the hub.",` + tail +
				`,"connected_clients":1,"online_agents":[],"protocol_version":2}`,
		},
		{
			"presence_update", &PresenceUpdate{"hub-1", us, []string{"a"}, PresenceLeft, "b"},
			`{"sender":"SynapseHub","target":"all","type":"presence_update","payload":"The set of online agents changed.",` + tail +
				`,"online_agents":["a"],"event":"left","agent":"b"}`,
		},
		{
			"name_conflict", &NameConflict{"hub-1", us, "a", NameTakenText("a")},
			`{"sender":"SynapseHub","target":"a","type":"name_conflict","payload":"The name 'a' belongs to another connection; choose a different one or ask for a takeover.",` + tail + `}`,
		},
		{
			"auth_denied", &AuthDenied{"hub-1", us, "a", AuthDeniedText(ReasonTokenNotForName, "a")},
			`{"sender":"SynapseHub","target":"a","type":"auth_denied","payload":"The token was not issued for the name 'a'.",` + tail + `}`,
		},
		{
			"error without code", &ErrorFrame{HubID: "hub-1", TimeUS: us, Target: "all", Text: "Malformed JSON."},
			`{"sender":"SynapseHub","target":"all","type":"error","payload":"Malformed JSON.",` + tail + `}`,
		},
		{
			"error with a retry id", &ErrorFrame{"hub-1", us, "a", "No.", ReasonNotPermitted, "m-1", "7.50"},
			`{"sender":"SynapseHub","target":"a","type":"error","payload":"No.",` + tail + `,"error_code":"not_permitted","client_msg_id":"m-1"}`,
		},
		{
			"error with a time", &ErrorFrame{"hub-1", us, "a", "No.", ReasonUnknownHub, "", "7.50"},
			`{"sender":"SynapseHub","target":"a","type":"error","payload":"No.",` + tail + `,"error_code":"unknown_hub","client_timestamp":7.50}`,
		},
		{
			"immediate receipt", &Receipt{
				HubID: "hub-1", TimeUS: us, Target: "a", MessageTarget: "b", MessageID: 1, MessageSeq: 3, Delivered: true,
				Recipients: []string{"b"}, Matched: []string{"b"}, Wake: []NameWake{{"b", WakeDirect}},
				NotificationID: ReceiptNotificationID(3, "immediate_delivered"), ClientMsgID: "m-1",
			},
			`{"sender":"SynapseHub","target":"a","type":"delivery_receipt","payload":"Reached b.",` + tail +
				`,"message_target":"b","message_id":1,"message_seq":3,"delivered":true,"deferred":false,"recipients":["b"],"matched_recipients":["b"],` +
				`"stale_recipients":[],"reason":"","dead_lettered":false,"recipient_wake_capabilities":{"b":"direct"},` +
				`"receipt_notification_id":"delivery-receipt:3:immediate_delivered","client_msg_id":"m-1"}`,
		},
		{
			"receipt waiting for another hub", &Receipt{
				HubID: "hub-1", TimeUS: us, Target: "a", MessageTarget: "b@hub-2", MessageID: 1, Reason: ReasonRelayPending, RemoteHub: "hub-2",
			},
			`{"sender":"SynapseHub","target":"a","type":"delivery_receipt","payload":"Held durably for hub hub-2; it has not left yet.",` + tail +
				`,"message_target":"b@hub-2","message_id":1,"delivered":false,"deferred":false,"recipients":[],"matched_recipients":[],` +
				`"stale_recipients":[],"reason":"relay_pending","dead_lettered":false,"recipient_wake_capabilities":{},"remote_hub":"hub-2"}`,
		},
		{
			"deferred receipt", &Receipt{
				HubID: "hub-1", TimeUS: us, Target: "a", Shape: ReceiptDeferred, MessageTarget: "b", MessageID: 1, MessageSeq: 3,
				Recipients: []string{"b"}, NotificationID: ReceiptNotificationID(3, "deferred"),
			},
			`{"sender":"SynapseHub","target":"a","type":"delivery_receipt","payload":"Taken from the mailbox by b.",` + tail +
				`,"message_target":"b","message_id":1,"message_seq":3,"delivered":true,"deferred":true,"recipients":["b"],` +
				`"receipt_notification_id":"delivery-receipt:3:deferred"}`,
		},
		{
			"expired receipt", &Receipt{
				HubID: "hub-1", TimeUS: us, Target: "a", Shape: ReceiptExpired, MessageTarget: "b", MessageID: 1, MessageSeq: 3,
				Delivered: true, Recipients: []string{"b"}, Reason: ReasonPendingWindowEvicted, NotificationID: ReceiptNotificationID(3, "expired"),
			},
			`{"sender":"SynapseHub","target":"a","type":"delivery_receipt","payload":"This hub no longer waits for the message to be taken; its outcome stays unknown.",` + tail +
				`,"message_target":"b","message_id":1,"message_seq":3,"delivered":false,"deferred":true,"expired":true,"reason":"pending_window_evicted",` +
				`"recipients":[],"receipt_notification_id":"delivery-receipt:3:expired"}`,
		},
		{
			"liveness warning", &LivenessWarning{
				HubID: "hub-1", TimeUS: us, Target: "a", MessageTarget: "b,c", MessageID: 2, Delivered: true, Matched: []string{"b", "c"},
				Stale: []string{"b"}, Passive: []string{"c"}, Wake: []NameWake{{"b", WakeUnknown}, {"c", WakePassive}},
			},
			`{"sender":"SynapseHub","target":"a","type":"recipient_liveness_warning","payload":"The message may stay unread: no sign of life from b; only a passive receiver for c.",` + tail +
				`,"message_target":"b,c","message_id":2,"delivered":true,"dead_lettered":false,"reason":"","matched_recipients":["b","c"],` +
				`"stale_recipients":["b"],"passive_recipients":["c"],"recipient_wake_capabilities":{"b":"unknown","c":"passive"}}`,
		},
		{
			"who without a journal", &WhoSnapshot{HubID: "hub-1", TimeUS: us, Target: "a", OnlineAgents: []string{"a"}, ConnectedClients: 1, HubVersion: "1.0", ConfigEpoch: ""},
			`{"sender":"SynapseHub","target":"a","type":"who_snapshot","payload":"Who is online now.",` + tail +
				`,"online_agents":["a"],"agent_roles":{},"connected_clients":1,"hub_version":"1.0","config_epoch":"","mailbox_pending":null}`,
		},
		{
			"who with everything", &WhoSnapshot{
				HubID: "hub-1", TimeUS: us, Target: "a", OnlineAgents: []string{"a", "b"}, AgentRoles: []NameRoles{{"a", []string{"p/r"}}, {"b", []string{"p/s"}}},
				ConnectedClients: 2, HubVersion: "1.0", ConfigEpoch: "e", MailboxPending: []NameCount{{"a", 0}, {"b", 2}},
				Liveness: []AgentLiveness{{"a", true, false, 1500}, {"b", false, true, -1}}, Wake: []NameWake{{"a", WakeDirect}},
			},
			`{"sender":"SynapseHub","target":"a","type":"who_snapshot","payload":"Who is online now.",` + tail +
				`,"online_agents":["a","b"],"agent_roles":{"a":["p/r"],"b":["p/s"]},"connected_clients":2,"hub_version":"1.0","config_epoch":"e",` +
				`"mailbox_pending":{"a":0,"b":2},"agent_liveness":{"a":{"proven_live":true,"has_live_waiter":false,"last_reaction_age":0.001500},` +
				`"b":{"proven_live":false,"has_live_waiter":true,"last_reaction_age":null}},"wake_capabilities":{"a":"direct"}}`,
		},
		{
			"state", &StateSnapshot{
				HubID: "hub-1", TimeUS: us, Target: "a", Agents: []AgentSeen{{"a", 1000000}, {"b", 2}}, GeneratedUS: us,
				DeadLetters: []DeadLetter{{"x", 2, 3000000, "a"}, {"y", 1, 1, "b"}},
			},
			`{"sender":"SynapseHub","target":"a","type":"state_snapshot","payload":"State of this hub.",` + tail +
				`,"snapshot":{"active_claims":[],"agents":[{"agent":"a","last_seen":1.000000},{"agent":"b","last_seen":0.000002}],"resources":[],` +
				`"generated_at":1796063246.832343,"dead_letters":[{"target":"x","count":2,"last_ts":3.000000,"last_sender":"a"},` +
				`{"target":"y","count":1,"last_ts":0.000001,"last_sender":"b"}],"pending_relay_approvals":[]}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := string(tc.f.Append([]byte("x")))[1:]
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if _, err := ParseObject([]byte(got), Limits{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Whatever names and texts hold, a hub frame is strict JSON.
func TestHubFramesAreStrictJSON(t *testing.T) {
	nasty := "\"\\\x00\x1f\u2028\xff😀" + strings.Repeat("x", 3000)
	names := []string{nasty, nasty, "a", "b", "c", "d"}
	for _, f := range []interface{ Append([]byte) []byte }{
		&Welcome{"h", 0, 1, names},
		&PresenceUpdate{"h", 0, names, PresenceJoined, nasty},
		&NameConflict{"h", 0, nasty, NameSwitchText(nasty, nasty)},
		&AuthDenied{"h", 0, nasty, AuthDeniedText(ReasonAuthDenied, nasty)},
		&ErrorFrame{"h", 0, nasty, nasty, ReasonNotPermitted, nasty, ""},
		&Receipt{Target: nasty, MessageTarget: nasty, Recipients: names, Matched: names, Stale: names, Reason: ReasonNoLiveRecipient, ClientMsgID: nasty},
		&LivenessWarning{Target: nasty, Matched: names, Stale: names, Passive: names},
	} {
		out := f.Append(nil)
		o, err := ParseObject(out, Limits{})
		if err != nil {
			t.Errorf("%T: %v", f, err)
			continue
		}
		if payload := o.text("payload"); payload == "" || (len(payload) > 3000 && o.text("type") != string(TypeError)) {
			t.Errorf("%T: a sentence of %d bytes", f, len(payload))
		}
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		AuthDeniedText(ReasonTokenRequired, "a"):                                                                  "This hub needs a token in the first frame.",
		AuthDeniedText(ReasonTokenInvalid, "a"):                                                                   "This hub does not know the token.",
		AuthDeniedText(ReasonNotPermitted, "a"):                                                                   "This hub refused the registration.",
		receiptText(&Receipt{MessageTarget: "b", Reason: ReasonNoOnlineRecipient}):                                "Nobody online answers to 'b'.",
		receiptText(&Receipt{MessageTarget: "b", Reason: ReasonNoLiveRecipient}):                                  "No recipient of 'b' shows signs of life.",
		receiptText(&Receipt{MessageTarget: "p", Delivered: true, Recipients: []string{"a", "b", "c", "d", "e"}}): "Reached a, b, c, d and others.",
		receiptText(&Receipt{Shape: ReceiptDeferred}):                                                             "Taken from the mailbox by nobody.",
		ReceiptImmediate.String() + ReceiptDeferred.String() + ReceiptExpired.String() + ReceiptShape(9).String(): "immediatedeferredexpiredreceipt shape 9",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
