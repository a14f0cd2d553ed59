package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"fleetrelay/hub/journal"
	"fleetrelay/hub/wire"
)

// TestPermissionDenied: what belongs to another user is neither damaged nor unexplained, and the path is named.
func TestPermissionDenied(t *testing.T) {
	own, other := t.TempDir(), "/"
	if os.Getuid() == 0 {
		other = t.TempDir()
		if err := os.Chown(other, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	for path, next := range map[string]string{own: "chmod u+rwX " + own, other: "run the command as "} {
		closed := &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}
		for name, err := range map[string]error{
			"file":  fmt.Errorf("load: %w", closed),
			"store": &journal.Error{Reason: wire.ReasonJournalFailed, Err: closed},
		} {
			r := openError(path, err)
			if r.Reason != wire.ReasonPermissionDenied || !strings.Contains(r.Text, path) || !strings.Contains(r.Next.String(), next) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// TestPlain: what the storage engine's errors carry for programs is not shown to people.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"block is damaged\n<corruption detail carrier>": "block is damaged",
		"one\ntwo\n": "one; two",
		"read: bad\nbad\n<corruption detail carrier>": "read: bad",
		"plain": "plain",
		"":      "",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
	r := &Refusal{Reason: wire.ReasonJournalCorrupt, Text: "the journal does not verify", Err: errors.New("block is damaged\n<corruption detail carrier>")}
	if got := r.Error(); got != "journal_corrupt: the journal does not verify: block is damaged" {
		t.Error(got)
	}
}

func TestPlainDetail(t *testing.T) {
	for _, c := range []struct {
		reason       wire.Reason
		detail, want string
	}{
		{wire.ReasonPinMismatch, "transport: dial: pin_mismatch: CRYPTO_ERROR 0x12a (local): certs: pin_mismatch: its key is another", "its key is another"},
		{wire.ReasonCertificateRefused, "transport: dial: certificate_refused: CRYPTO_ERROR 0x12a (remote): tls: bad certificate", ""},
		{wire.ReasonLinkLost, "transport: dial: link_lost: lookup nowhere.example: no such host", "lookup nowhere.example: no such host"},
		{wire.ReasonLinkLost, "transport: dial: lookup nowhere.example: no such host", "lookup nowhere.example: no such host"},
		{wire.ReasonHubShutdown, "the peer said goodbye: hub_shutdown", ""},
		{wire.ReasonLinkLost, "", ""},
	} {
		if got := plainDetail(c.reason, c.detail); got != c.want {
			t.Errorf("%q became %q", c.detail, got)
		}
	}
}

func TestSameListener(t *testing.T) {
	var own string
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			own = n.IP.String()
		}
	}
	for _, c := range []struct {
		endpoint, listener string
		want               bool
	}{
		{"127.0.0.1:8877", ":8877", true},
		{"localhost:8877", "[::]:8877", true},
		{own + ":8877", "0.0.0.0:8877", true},
		{"127.0.0.1:8877", "127.0.0.1:8877", true},
		{"127.0.0.1:8878", ":8877", false},
		{"127.0.0.1:8877", "10.9.8.7:8877", false},
		{"192.0.2.1:8877", ":8877", false},
		{"relay.example:8877", ":8877", false},
	} {
		if got := sameListener(c.endpoint, c.listener); got != c.want {
			t.Errorf("%s at %s: %v", c.endpoint, c.listener, got)
		}
	}
}

func TestShown(t *testing.T) {
	for addr, want := range map[string]string{"0.0.0.0:1": "127.0.0.1:1", "[::]:1": "127.0.0.1:1", ":1": "127.0.0.1:1", "10.0.0.1:1": "10.0.0.1:1", "[::1]:1": "[::1]:1"} {
		if got, everywhere := Shown(addr); got != want || everywhere != (got != addr) {
			t.Errorf("%s is shown as %s, %v", addr, got, everywhere)
		}
	}
}
