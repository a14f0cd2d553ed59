package journal

import (
	"bytes"
	"encoding/hex"
	"testing"

	"fleetrelay/hub/wire"
)

// TestExportKeepsSecrets looks for what opens a door in the export of every sample, of records this build reads and of
// those a newer one wrote.
func TestExportKeepsSecrets(t *testing.T) {
	secrets := []string{"sixteen bytes of", hex.EncodeToString([]byte("sixteen bytes of"))}
	records := samples()
	for i, rec := range records { // with hashes that no other sample has
		hash := [32]byte{0xee, byte(i)}
		switch r := rec.(type) {
		case TokenCreated:
			r.Hash = hash
			records[i] = r
		case InviteCreated:
			r.Hash = hash
			records[i] = r
		default:
			continue
		}
		secrets = append(secrets, hex.EncodeToString(hash[:]))
	}
	for _, rec := range records {
		for _, format := range []uint8{1, FormatNumber} {
			ev := completed(NewEvent(7, 8, rec))
			ev.Format = format
			out, err := wire.Marshal(ExportEvent(ev))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range secrets {
				if bytes.Contains(out, []byte(secret)) {
					t.Errorf("%v format %d: %s", rec.Kind(), format, out)
				}
			}
		}
	}
}

// TestEarlierApprovals reads an approval of the first layout: one endpoint, no invite.
func TestEarlierApprovals(t *testing.T) {
	attrs := appendBytes(appendText(appendText(nil, 1, "far.example"), 2, "far.example:8877"), 3, make([]byte, 32))
	ev := Event{Seq: 1, Kind: KindPeerApproved, Format: 1, Attrs: attrs}
	rec, err := ev.Record()
	if r, ok := rec.(PeerApproved); err != nil || !ok || len(r.Endpoints) != 1 || r.Endpoints[0] != "far.example:8877" {
		t.Errorf("%+v, %v", rec, err)
	}
}
