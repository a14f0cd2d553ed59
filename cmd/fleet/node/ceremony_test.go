package node

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"fleetrelay/federation"
	"fleetrelay/hub/wire"
)

// TestSecretsStayInside: the secret of an invitation that was taken is needed for as long as the hub calls, and nobody who
// looks at the node is shown it.
func TestSecretsStayInside(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	inv := federation.Invitation{
		Hub: "far.example", Pin: federation.Pin{1}, Endpoints: []string{"far.example:8877"},
		Secret: [federation.InviteBytes]byte([]byte("sixteen secrets!")), ExpiresUS: time.Now().Add(time.Hour).UnixMicro(),
	}
	c, err := Connect(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	show := func(v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		b, err := wire.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(b)
	}
	row, err := c.Join(t.Context(), JoinRequest{Token: inv.Token()})
	show(row, err)
	list, err := c.Pending(t.Context())
	show(list, err)
	done, err := c.Approve(t.Context(), Approval{Key: row.Code, MayReach: []string{"p/*"}, By: "Ann"})
	show(done, err)
	known, err := c.Peers(t.Context())
	show(known, err)
	status, err := c.Status(t.Context())
	show(status, err)
	line := func(b []byte) error { _, err := shown.Write(b); return err }
	if err := errors.Join(c.Export(t.Context(), 1, 0, true, line), c.Close()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"peer_joined", "peer_approved", row.Code} {
		if !bytes.Contains(shown.Bytes(), []byte(kind)) {
			t.Errorf("nothing was shown of %s", kind)
		}
	}
	secret := inv.Secret[:]
	for _, form := range []string{string(secret), hex.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret)} {
		if bytes.Contains(shown.Bytes(), []byte(form)) {
			t.Errorf("the secret is shown as %q", form)
		}
	}
}
