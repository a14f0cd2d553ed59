package doctor

import (
	"maps"
	"net"
	"testing"
	"time"

	"fleetrelay/certs"
	"fleetrelay/certs/certstest"
	"fleetrelay/cmd/fleet/node"
	"fleetrelay/hub/wire"
	"fleetrelay/relay/transport"
)

// answering is a hub that shows these certificates and approves whoever is in trust; it returns where.
func answering(t *testing.T, id *certs.Identity, trust certs.Trust) string {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q, err := transport.NewQUIC(transport.Options{Identity: id, Socket: socket, Now: time.Now, Trust: func() certs.Trust { return trust }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		if err := socket.Close(); err != nil {
			t.Error(err)
		}
	})
	return socket.LocalAddr().String()
}

func identityOf(t *testing.T, s certstest.Spec) *certs.Identity {
	t.Helper()
	id, err := certstest.Identity(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestHandshakeJudgesKeyAndNameApart holds that the pin step is about the key alone and the san step about the name.
func TestHandshakeJudgesKeyAndNameApart(t *testing.T) {
	key, err := certstest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	us := identityOf(t, certstest.Spec{Hub: "us.example"})
	approved := identityOf(t, certstest.Spec{Hub: "peer.example", Key: key})
	other := identityOf(t, certstest.Spec{Hub: "else.example"})
	for name, c := range map[string]struct {
		there *certs.Identity
		pins  []string
		want  map[string]wire.Reason
	}{
		"the peer":                     {approved, []string{approved.Pin().String()}, map[string]wire.Reason{}},
		"another key, the peer's name": {identityOf(t, certstest.Spec{Hub: "peer.example"}), []string{approved.Pin().String()}, map[string]wire.Reason{"pin": wire.ReasonPinMismatch}},
		"the peer's key, another name": {identityOf(t, certstest.Spec{Hub: "else.example", Key: key}), []string{approved.Pin().String()}, map[string]wire.Reason{"san": wire.ReasonWrongHubID}},
		"its second key, another name": {identityOf(t, certstest.Spec{Hub: "else.example", Key: key}), []string{us.Pin().String(), approved.Pin().String()}, map[string]wire.Reason{"san": wire.ReasonWrongHubID}},
		"another hub":                  {other, []string{approved.Pin().String()}, map[string]wire.Reason{"pin": wire.ReasonPinMismatch, "san": wire.ReasonWrongHubID}},
		"this node":                    {us, []string{approved.Pin().String()}, map[string]wire.Reason{"pin": wire.ReasonPinMismatch, "san": wire.ReasonSelfDial}},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := answering(t, c.there, certstest.Trusting(us))
			var r Report
			r.handshake(t.Context(), Options{Now: time.Now}, us, node.PeerStatus{Hub: "peer.example", Pins: c.pins, Endpoints: []string{endpoint}}, endpoint)
			if len(r.Steps) != len(judgements) {
				t.Errorf("%d steps: %+v", len(r.Steps), r.Steps)
			}
			failed, states := map[string]wire.Reason{}, map[string]State{}
			for _, s := range r.Steps {
				states[s.Name] = s.State
				if s.State == Failed {
					failed[s.Name] = s.Reason
					if s.Text == "" || s.Next.String() == "" {
						t.Errorf("says nothing: %+v", s)
					}
				}
			}
			if !maps.Equal(failed, c.want) {
				t.Errorf("failed %v, want %v: %+v", failed, c.want, r.Steps)
			}
			for _, step := range []string{"tls", pinStep, sanStep} {
				if _, bad := c.want[step]; !bad && states[step] != OK {
					t.Errorf("%s is %s: %+v", step, states[step], r.Steps)
				}
			}
		})
	}
}
