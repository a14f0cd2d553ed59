package hub

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fleetrelay/hub/wire"
)

// A flood of refusals fills no log: one line per reason in ten seconds, which
// names how many were not told; ends of sockets are no refusals.
func TestRefusalsAreToldSparingly(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	r := newRefusals(slog.New(slog.NewTextHandler(&out, nil)), func() time.Time { return now })
	for range 1000 {
		r.note(wire.ReasonAuthDenied, "connection ended", strings.Repeat("x", 4000))
		r.note(wire.ReasonClientClosed, "connection ended", "proj/a")
	}
	now = now.Add(refusalEvery)
	r.note(wire.ReasonAuthDenied, "connection ended", "proj/b")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], "reason=auth_denied who=proj/b more=999") || len(lines[0]) > 400 {
		t.Fatalf("%d lines, the last %s", len(lines), lines[len(lines)-1])
	}
	if got := r.byReason(); got[wire.ReasonAuthDenied] != 1001 || len(got) != 1 {
		t.Fatalf("counted %v", got)
	}
}
