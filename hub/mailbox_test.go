package hub

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"fleetrelay/hub/wire"
)

// modelChat is a chat as the naive twin of the mailbox remembers it.
type modelChat struct {
	seq            uint64
	sender, target string
}

// modelMail lists what a replay owes an identity, straight from section 7.
func modelMail(chats []modelChat, identity string, roles []string, after uint64) []uint64 {
	out := []uint64{}
	for _, c := range chats {
		target := wire.CompileTarget(c.target)
		if c.seq > after && c.sender != identity && target.Directed() && target.Matches(identity, roles) {
			out = append(out, c.seq)
		}
	}
	return out
}

// Replays, counts and watermarks agree with the naive twin over random chats and
// acknowledgements, with a restart in the middle; no directed message is lost.
func TestMailboxAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	fs := vfs.NewMem()
	r := startRig(t, fs)
	targets := []string{
		"all", "p", "p/*", "p/?", "p/[ab]", "p/a", "p/b", "p/c", "p/a,p/c", "q/d", "p/role", "q", "nobody", " p/b , q ",
	}
	var chats []modelChat
	marks := map[string]uint64{}
	send := func(n int) {
		agents := []*agent{r.join("p/a"), r.join("p/b"), r.join("q/d")}
		for i := range n {
			a := agents[rng.IntN(3)]
			target := targets[rng.IntN(len(targets))]
			g := a.chat(target, fmt.Sprint(len(chats), " ", i))
			chats = append(chats, modelChat{seq: g.num("seq"), sender: a.name, target: target})
			ack := chats[rng.IntN(len(chats))]
			a.send(fmt.Sprintf(`{"sender":%q,"type":"ack","seq":%d}`, a.name, ack.seq))
			if owed := modelMail(chats, a.name, nil, 0); slices.Contains(owed, ack.seq) {
				marks[a.name] = max(marks[a.name], ack.seq)
			}
		}
		for _, a := range agents {
			a.send(fmt.Sprintf(`{"sender":%q,"type":"who_request"}`, a.name)) // settles the acks before
			a.typed("who_snapshot")
		}
	}
	send(120)
	r.stop()
	r = startRig(t, fs)
	send(60)
	for _, name := range []string{"p/a", "p/c", "q/d"} {
		checkMailbox(t, r, chats, name, marks[name], uint64(rng.IntN(100)))
	}
}

func checkMailbox(t *testing.T, r *rig, chats []modelChat, name string, mark, since uint64) {
	t.Helper()
	roles := []string{"p/role"}
	a := r.dial(name)
	a.send(fmt.Sprintf(`{"sender":%q,"type":"heartbeat","takeover":true,"roles":["p/role"],"mailbox":true,"since_seq":%d}`, name, since))
	a.send(fmt.Sprintf(`{"sender":%q,"type":"who_request"}`, name))
	seqs := []uint64{}
	var who got
	for who == nil {
		g, err := a.read()
		if err != nil {
			t.Fatal(err)
		}
		switch g.str("type") {
		case "chat":
			seqs = append(seqs, g.num("seq"))
		case "who_snapshot":
			who = g
		}
	}
	if want := modelMail(chats, name, roles, since); !slices.Equal(seqs, want) {
		t.Errorf("%s after %d: replayed %v, owed %v", name, since, seqs, want)
	}
	pending := who["mailbox_pending"].(map[string]any)
	want := len(modelMail(chats, name, roles, max(mark, since)))
	if n, ok := pending[name].(float64); !ok || int(n) != want {
		t.Errorf("%s has %v pending, want %d above %d", name, pending[name], want, max(mark, since))
	}
}

// The window of pending receipts pushes its oldest out, whose sender is told.
func TestPendingWindow(t *testing.T) {
	r := startRig(t, vfs.NewMem())
	a := r.join("p/a")
	first := a.chat("p/b", "first", `,"receipt_requested":true`)
	a.typed("delivery_receipt")
	var expired got
	for i := range pendingReceipts {
		a.send(fmt.Sprintf(`{"sender":"p/a","type":"chat","target":"p/b","payload":"%d","receipt_requested":true}`, i))
		a.until(func(g got) bool {
			if g["expired"] == true {
				expired = g
			}
			return g.str("type") == "delivery_receipt" && g["deferred"] == false
		})
	}
	if expired.num("message_seq") != first.num("seq") || expired.str("reason") != "pending_window_evicted" ||
		!strings.HasSuffix(expired.str("receipt_notification_id"), ":expired") {
		t.Fatalf("expired %v", expired)
	}
}
