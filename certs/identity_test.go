package certs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func TestCreateThenLoad(t *testing.T) {
	for _, hub := range []string{"a.example", "Hub_9.B-c", "x", strings.Repeat("Z", 64), "1..2"} {
		t.Run(hub, func(t *testing.T) {
			dir := t.TempDir()
			made, err := Create(dir, hub, start, nil)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			if loaded.HubID() != hub || loaded.Pin() != made.Pin() {
				t.Fatalf("loaded %s %v, made %s %v", loaded.HubID(), loaded.Pin(), hub, made.Pin())
			}
			if got := loaded.NotAfter(); got.Before(start.AddDate(9, 0, 0)) {
				t.Errorf("valid until %v only", got)
			}
			if loaded.NotBefore().After(start) {
				t.Errorf("valid from %v, after its making", loaded.NotBefore())
			}
		})
	}
}

func TestCreateRefusesBadHubIDs(t *testing.T) {
	for _, hub := range []string{"", ".", "..", "-a", "_a", "a/b", "a b", "ä", "a\x00", strings.Repeat("a", 65)} {
		dir := t.TempDir()
		if _, err := Create(dir, hub, start, nil); !errors.Is(err, ErrHubID) {
			t.Errorf("%q: %v", hub, err)
		}
		wantEntries(t, dir)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	first, err := Create(dir, "a.example", start, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, "a.example", start, nil); !errors.Is(err, ErrExists) {
		t.Fatalf("second Create: %v", err)
	}
	again, err := Load(dir)
	if err != nil || again.Pin() != first.Pin() {
		t.Fatalf("the identity changed: %v", err)
	}
	wantEntries(t, dir, "identity")
}

// TestCreateRace lets another Create win between the look and the rename.
func TestCreateRace(t *testing.T) {
	dir := t.TempDir()
	var winner *Identity
	_, err := Create(dir, "a.example", start, func(point string) error {
		if point != PointTempSynced {
			return nil
		}
		var err error
		winner, err = Create(dir, "a.example", start, nil)
		return err
	})
	// The winner removed the loser's unfinished folder, so the loser may fail
	// in either way; what counts is that it failed and changed nothing.
	if err == nil {
		t.Fatal("two identities were created in one folder")
	}
	loaded, err := Load(dir)
	if err != nil || loaded.Pin() != winner.Pin() {
		t.Fatalf("the loser touched the winner's identity: %v", err)
	}
}

// TestCreateCrash ends Create at every fail-point: then there is no identity
// and the next Create works, or there is a complete one.
func TestCreateCrash(t *testing.T) {
	crash := errors.New("crash")
	for _, point := range Points() {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			reached := 0
			_, err := Create(dir, "a.example", start, func(at string) error {
				if at == point {
					reached++
					return crash
				}
				return nil
			})
			if !errors.Is(err, crash) || reached != 1 {
				t.Fatalf("reached %d times, err %v", reached, err)
			}
			checkAfterCrash(t, dir)
		})
	}
}

func checkAfterCrash(t *testing.T, dir string) {
	t.Helper()
	_, err := Load(dir)
	if err == nil {
		return
	}
	if !errors.Is(err, ErrMissing) {
		t.Fatalf("neither complete nor absent: %v", err)
	}
	if _, err := Create(dir, "a.example", start, nil); err != nil {
		t.Fatalf("Create after the crash: %v", err)
	}
	if _, err := Load(dir); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, dir, "identity")
}

func TestPointsArePassedInOrder(t *testing.T) {
	var passed []string
	_, err := Create(t.TempDir(), "a.example", start, func(point string) error {
		passed = append(passed, point)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(passed), fmt.Sprint(Points()); got != want {
		t.Fatalf("passed %s, listed %s", got, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	other := t.TempDir()
	if _, err := Create(other, "b.example", start, nil); err != nil {
		t.Fatal(err)
	}
	otherCert, err := os.ReadFile(filepath.Join(other, "identity", "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		harm func(key, cert string) error
		want error
	}{
		"group may read the key": {func(key, _ string) error { return os.Chmod(key, 0o640) }, ErrKeyTooOpen},
		"all may read the key":   {func(key, _ string) error { return os.Chmod(key, 0o604) }, ErrKeyTooOpen},
		"all may write the key":  {func(key, _ string) error { return os.Chmod(key, 0o602) }, ErrKeyTooOpen},
		"no key":                 {func(key, _ string) error { return os.Remove(key) }, ErrMissing},
		"no certificate":         {func(_, cert string) error { return os.Remove(cert) }, ErrDamaged},
		"empty key":              {func(key, _ string) error { return os.Truncate(key, 0) }, ErrDamaged},
		"cut certificate":        {func(_, cert string) error { return os.Truncate(cert, 100) }, ErrDamaged},
		"another's certificate":  {func(_, cert string) error { return os.WriteFile(cert, otherCert, 0o600) }, ErrDamaged},
		"huge key":               {func(key, _ string) error { return os.Truncate(key, 2<<20) }, ErrDamaged},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := Create(dir, "a.example", start, nil); err != nil {
				t.Fatal(err)
			}
			if err := test.harm(filepath.Join(dir, "identity", "key.pem"), filepath.Join(dir, "identity", "cert.pem")); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(dir); !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestKeyFileMode(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir, "a.example", start, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "identity", "key.pem"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, err %v", info.Mode(), err)
	}
	info, err = os.Stat(filepath.Join(dir, "identity"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("folder mode %v, err %v", info.Mode(), err)
	}
}

func TestErrorsHoldNoKey(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir, "a.example", start, nil); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "identity", "key.pem")
	pem, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	harmed := bytes.Replace(pem, []byte("M"), []byte("!"), 1)
	if err := os.WriteFile(name, harmed, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Load(dir)
	if err == nil || strings.Contains(err.Error(), string(pem[40:60])) {
		t.Fatalf("error %v", err)
	}
}

func TestDerive(t *testing.T) {
	dir := t.TempDir()
	made, err := Create(dir, "a.example", start, nil)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	first, err1 := made.Derive("one")
	again, err2 := loaded.Derive("one")
	other, err3 := loaded.Derive("two")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if first != again || first == other {
		t.Fatal("a label does not name one secret")
	}
}

func TestPinText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pin := Pin(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "pin"))
		for _, text := range []string{pin.String(), "sha256:" + strings.ToUpper(pin.String()[7:])} {
			if got, err := ParsePin(text); err != nil || got != pin {
				t.Fatalf("%s: %v, %v", text, got, err)
			}
		}
	})
	good := Pin{}.String()
	for _, bad := range []string{"", good[7:], good + "0", good + "00", good[:len(good)-1], "SHA256:" + good[7:], " " + good, "sha256:" + strings.Repeat("zz", 32)} {
		if _, err := ParsePin(bad); !errors.Is(err, ErrPinSyntax) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParsePin(f *testing.F) {
	for _, seed := range pinSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := onePinOneText(ParsePin, s); err != nil {
			t.Fatal(err)
		}
	})
}

func pinSeeds() []string {
	return []string{Pin{1}.String(), Pin{1}.String() + "00", " " + Pin{1}.String(), "sha256:"}
}

// onePinOneText: what parses is written the same, but for the letter case.
func onePinOneText(parse func(string) (Pin, error), s string) error {
	pin, err := parse(s)
	if err == nil && pin.String() != strings.ToLower(s) {
		return fmt.Errorf("%q read as %v", s, pin)
	}
	return nil
}

// TestPinCheckFindsFaults plants a parser that ignores what follows the pin
// and one that trims space: the seeds of the fuzz target find both.
func TestPinCheckFindsFaults(t *testing.T) {
	planted := map[string]func(string) (Pin, error){
		"ignores a rest": func(s string) (Pin, error) { return ParsePin(s[:min(len(s), len(Pin{}.String()))]) },
		"trims space":    func(s string) (Pin, error) { return ParsePin(strings.TrimSpace(s)) },
	}
	for name, parse := range planted {
		found := false
		for _, seed := range pinSeeds() {
			found = found || onePinOneText(parse, seed) != nil
		}
		if !found {
			t.Errorf("%s: not found", name)
		}
	}
}

func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the folder holds %v, want %v", got, want)
	}
}
