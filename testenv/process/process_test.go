package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is the child as well: the binary under test is this test binary.
func TestMain(m *testing.M) {
	if role := os.Getenv("PROCESS_CHILD"); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

func child(role string) int {
	switch role {
	case "fails":
		fmt.Fprintln(os.Stderr, "no luck today")
		return 4
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	stop := make(chan os.Signal, 1)
	if signal.Notify(stop, syscall.SIGUSR1); role == "polite" {
		signal.Notify(stop, syscall.SIGTERM)
	}
	fmt.Println("to stdout")
	fmt.Fprintln(os.Stderr, "ready")
	<-stop
	fmt.Fprintln(os.Stderr, "bye")
	return 0
}

func start(t *testing.T, role string) (*Process, error) {
	t.Helper()
	p := New(Spec{
		Name: role, Binary: os.Args[0], Env: []string{"PROCESS_CHILD=" + role}, LogDir: t.TempDir(), Ready: Prints("ready\n"),
	})
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return p, p.Start(ctx)
}

// TestPause holds that a paused process hears nothing until it goes on, and can be killed.
func TestPause(t *testing.T) {
	p, err := start(t, "polite")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); err == nil {
		t.Error("a paused process heard SIGTERM")
	}
	if err := p.Resume(); err == nil {
		t.Error("what was killed goes on")
	}
	if p, err = start(t, "polite"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Pause(), p.Resume(), p.Stop(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestStopIsGraceful(t *testing.T) {
	p, err := start(t, "polite")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	code, err := p.Wait(t.Context())
	if code != 0 || err != nil || p.Stderr() != "ready\nbye\n" || p.Stdout() != "to stdout\n" {
		t.Errorf("exit %d, %v, stderr %q, stdout %q", code, err, p.Stderr(), p.Stdout())
	}
}

func TestKillAndStartAgain(t *testing.T) {
	p, err := start(t, "polite")
	if err != nil {
		t.Fatal(err)
	}
	first := p.PID()
	if err := p.Start(t.Context()); err == nil {
		t.Error("a running process was started a second time")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, _ := p.Wait(t.Context()); code != -1 || strings.Contains(p.Stderr(), "bye") {
		t.Errorf("a killed process ended with code %d and said %q", code, p.Stderr())
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.PID() == first || p.Starts() != 2 {
		t.Errorf("pid %d, first %d, %d starts", p.PID(), first, p.Starts())
	}
}

func TestStopKillsTheStubborn(t *testing.T) {
	p, err := start(t, "stubborn")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop said %v", err)
	}
	<-p.Done()
}

func TestStartTellsWhyItFailed(t *testing.T) {
	_, err := start(t, "fails")
	if err == nil || !strings.Contains(err.Error(), "exit code 4") || !strings.Contains(err.Error(), "no luck today") {
		t.Errorf("Start said %v", err)
	}
}

func TestRun(t *testing.T) {
	t.Setenv("PROCESS_CHILD", "fails")
	_, stderr, code, err := Run(t.Context(), os.Args[0], nil)
	if code != 4 || err != nil || stderr != "no luck today\n" {
		t.Errorf("Run: %q, %d, %v", stderr, code, err)
	}
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := FreePorts(8)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if port < 1 || seen[port] {
			t.Errorf("ports %v", ports)
		}
		seen[port] = true
	}
}

func TestModuleRoot(t *testing.T) {
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(root + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if line, _ := bufio.NewReader(file).ReadString('\n'); line != "module fleetrelay\n" {
		t.Errorf("%s holds %q", root, line)
	}
}
