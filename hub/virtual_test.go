package hub

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// pipes is a listener and dialer in memory, for tests on virtual time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	p.conns <- b
	return a, nil
}

// startVirtual is startRig within a bubble of virtual time.
func startVirtual(t *testing.T, adjust ...func(*Options)) *rig {
	t.Helper()
	adjust = append(adjust, func(o *Options) {
		o.AllowedHosts, o.Limits.PerHost, o.RegistrationTimeout = []string{"127.0.0.1"}, 1000, 0
	})
	r, err := buildRig(t, vfs.NewMem(), adjust...)
	if err != nil {
		t.Fatal(err)
	}
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	r.client = &http.Client{Transport: &http.Transport{DialContext: p.dial}}
	r.http = &httptest.Server{Listener: p, Config: &http.Server{Handler: r.hub}}
	r.http.Start()
	t.Cleanup(func() {
		r.stop()
		r.client.CloseIdleConnections()
	})
	return r
}

// tape is an agent that reads all the time, as a real one does: it answers pings.
type tape struct {
	*agent
	mu     sync.Mutex
	frames []got
	at     []time.Time
	end    error
}

func (r *rig) record(name, extra string) *tape {
	r.t.Helper()
	k := &tape{agent: r.dial(name)}
	go k.run()
	if name != "" {
		k.beat(extra)
	}
	synctest.Wait()
	return k
}

func (k *tape) beat(extra string) {
	k.send(fmt.Sprintf(`{"sender":%q,"type":"heartbeat"%s}`, k.name, extra))
}

func (k *tape) run() {
	for {
		g, err := k.readAny()
		k.mu.Lock()
		if err != nil {
			k.end = err
			k.mu.Unlock()
			return
		}
		k.frames, k.at = append(k.frames, g), append(k.at, time.Now())
		k.mu.Unlock()
	}
}

// since returns and forgets the frames so far, once nothing moves any more.
func (k *tape) since() []got {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.frames
	k.frames, k.at = nil, nil
	return out
}

// ended is how the socket ended, "" while it is open.
func (k *tape) ended() string {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	return closeText(k.end)
}

// verdict asks for a receipt and returns its reason, and whether it came before
// the sender's own copy.
func (k *tape) verdict(target string) (reason string, first bool) {
	k.since()
	k.send(fmt.Sprintf(`{"sender":%q,"type":"chat","target":%q,"payload":"x","receipt_requested":true}`, k.name, target))
	own := false
	for _, g := range k.since() {
		switch g.str("type") {
		case "chat":
			own = true
		case "delivery_receipt":
			return g.str("reason"), !own
		}
	}
	k.t.Error("no receipt")
	return "", false
}

// Section 8: 90 s after its last frame that was no heartbeat an agent is stale,
// unless a sidecar was heard within 60 s (section 18 item 5).
func TestLivenessWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startVirtual(t)
		a, b := r.record("p/a", ""), r.record("p/b", "")
		wait := func(d time.Duration, alive ...*tape) {
			for end := time.Now().Add(d); time.Now().Before(end); {
				time.Sleep(min(10*time.Second, time.Until(end)))
				for _, k := range alive {
					k.beat("")
				}
				synctest.Wait()
			}
		}
		steps := []struct {
			wait   time.Duration
			alive  []*tape
			reason string
		}{
			{89 * time.Second, []*tape{b}, ""},
			{2 * time.Second, []*tape{b}, "no_live_recipient"},
		}
		for i, s := range steps {
			wait(s.wait, s.alive...)
			if reason, first := a.verdict("p/b"); reason != s.reason || first != (s.reason != "") {
				t.Errorf("step %d: %q, before the copy %v", i, reason, first)
			}
		}
		rx := r.record("p/b-rx", "")
		wait(200*time.Second, rx)
		if reason, _ := a.verdict("p/b"); reason != "" {
			t.Errorf("with a sidecar that beats: %q", reason)
		}
		wait(59 * time.Second)
		if reason, _ := a.verdict("p/b"); reason != "" {
			t.Errorf("59 s after its last beat: %q", reason)
		}
		wait(2 * time.Second)
		if reason, _ := a.verdict("p/b"); reason != "no_live_recipient" {
			t.Errorf("61 s after its last beat: %q", reason)
		}
		b.send(`{"sender":"p/b","type":"ack"}`) // without effect, but no heartbeat
		if reason, _ := a.verdict("p/b"); reason != "" {
			t.Errorf("after a reaction: %q", reason)
		}
	})
}

// Section 4: a takeover within 2 s of the last one is refused and counts for
// nothing; the fifth within 30 s is refused for 60 s.
func TestTakeoverLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startVirtual(t)
		r.record("p/a", "")
		for i, step := range []struct {
			wait time.Duration
			want string
		}{
			{0, ""},
			{1900 * time.Millisecond, "4014 takeover cooldown"},
			{200 * time.Millisecond, ""}, // 2.1 s after the first: the refused one prolonged nothing
			{2100 * time.Millisecond, ""},
			{2100 * time.Millisecond, ""},
			{2100 * time.Millisecond, "4014 takeover quarantine"},
			{59 * time.Second, "4014 takeover quarantine"},
			{2 * time.Second, ""},
		} {
			time.Sleep(step.wait)
			k := r.record("p/a", `,"takeover":true`)
			if got := k.ended(); got != step.want {
				t.Errorf("step %d: %q, want %q", i, got, step.want)
			}
		}
	})
}

// Section 3: a socket that binds no name within 10 s is closed.
func TestRegistrationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startVirtual(t)
		silent, slow := r.record("", ""), r.record("", "")
		time.Sleep(9900 * time.Millisecond)
		if text := silent.ended(); text != "" {
			t.Errorf("closed early: %q", text)
		}
		slow.name = "p/slow"
		slow.beat("")
		time.Sleep(200 * time.Millisecond)
		if text := silent.ended(); text != "4012 registration timeout" {
			t.Errorf("ended %q", text)
		}
		if text := slow.ended(); text != "" {
			t.Errorf("a socket with a name ended: %q", text)
		}
		if _, _, err := r.hub.CreateToken(t.Context(), "p/a", "test"); err != nil {
			t.Fatal(err)
		}
		late := r.record("", "")
		time.Sleep(10100 * time.Millisecond)
		if text := late.ended(); text != "4012 auth timeout" || len(late.since()) != 0 {
			t.Errorf("on a secured hub: %q", text)
		}
	})
}

// Dead letters are dropped after seven days, and the least recent of more than
// 200.
func TestDeadLetterAge(t *testing.T) {
	r := newRoster()
	r.countDead("p/old", "p/a", 0)
	for i := range 2 * deadLetterRows {
		r.countDead(fmt.Sprint("p/", i), "p/a", deadLetterAge/2+int64(i))
	}
	if rows := r.deadLetters(deadLetterAge / 2); len(rows) != deadLetterRows {
		t.Errorf("%d rows", len(rows))
	}
	if rows := r.deadLetters(deadLetterAge + deadLetterAge/2 + deadLetterRows); len(rows) != deadLetterRows {
		t.Errorf("%d rows after seven days", len(rows))
	}
	if rows := r.deadLetters(2*deadLetterAge + deadLetterRows); len(rows) != 0 {
		t.Errorf("%d rows after eight days", len(rows))
	}
}

// Above 256 names a socket gets at most one presence_update a second, and in the
// end the last change.
func TestPresenceIsCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startVirtual(t)
		var crowd []*tape
		for i := range publicPresence {
			crowd = append(crowd, r.record(fmt.Sprintf("crowd/%d", i), ""))
		}
		time.Sleep(3 * time.Second)
		for _, k := range crowd {
			k.since()
		}
		for i := range 40 { // joins and leaves at all distances from the ticks
			time.Sleep(time.Duration(70+i*13) * time.Millisecond)
			k := r.record(fmt.Sprintf("late/%d", i), "")
			crowd = append(crowd, k)
			if i%5 == 4 {
				_ = crowd[i].ws.CloseNow()
				synctest.Wait()
			}
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		for _, k := range crowd {
			if k.ended() == "" {
				k.checkPresence(t, "crowd/39") // went last
			}
		}
	})
}

func (k *tape) checkPresence(t *testing.T, last string) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	var before time.Time
	agent := ""
	for i, g := range k.frames {
		if g.str("type") != "presence_update" {
			continue
		}
		if gap := k.at[i].Sub(before); gap < time.Second-50*time.Millisecond {
			t.Errorf("%s: two presence updates within %v", k.name, gap)
		}
		before, agent = k.at[i], g.str("agent")
		for _, name := range g["online_agents"].([]any) {
			if name.(string)[:4] != agent[:4] {
				t.Errorf("%s: %s beside %s", k.name, name, agent)
			}
		}
	}
	if agent != last {
		t.Errorf("%s was told of %s last, want %s", k.name, agent, last)
	}
}
