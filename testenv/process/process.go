package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Spec is how to start one process.
type Spec struct {
	Name   string   // for messages and the names of its log files
	Binary string   // path
	Args   []string // without the binary
	Env    []string // added to the environment of the test
	Dir    string   // working folder; "" is the test's
	LogDir string   // NAME.N.out and NAME.N.err go here, N being the number of the start
	// Ready is polled until it returns nil. nil means ready at once.
	Ready func(ctx context.Context, p *Process) error
}

// Process is one program that can be ended and started again. Its methods are safe for concurrent use; starts and
// ends of one process must not overlap.
type Process struct {
	spec Spec

	mu     sync.Mutex
	starts int
	run    *run
}

// run is one life of the process.
type run struct {
	cmd            *exec.Cmd
	stdout, stderr string
	done           chan struct{} // closed when the process is gone and its logs are complete
	err            error         // of Wait, valid after done
}

// pollEvery is how often a condition outside this process is looked at.
const pollEvery = 5 * time.Millisecond

// New prepares a process without starting it.
func New(spec Spec) *Process { return &Process{spec: spec} }

// Start runs the process, in this life with more arguments, and waits until it is ready. When it ends before that, the
// error holds its exit code and the end of its stderr.
func (p *Process) Start(ctx context.Context, more ...string) error {
	if err := p.Launch(more...); err != nil {
		return err
	}
	return p.AwaitReady(ctx)
}

// Launch runs the process and does not wait.
func (p *Process) Launch(more ...string) error {
	if _, err := p.launch(more); err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	return nil
}

// AwaitReady is the second half of Start.
func (p *Process) AwaitReady(ctx context.Context) error {
	r := p.current()
	if r == nil {
		return fmt.Errorf("%s was never started", p.spec.Name)
	}
	if p.spec.Ready == nil {
		return nil
	}
	if err := p.awaitReady(ctx, r); err != nil {
		return fmt.Errorf("%s is not ready: %w\n%s", p.spec.Name, err, p.Tail(2000))
	}
	return nil
}

func (p *Process) launch(more []string) (*run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil && !p.run.ended() {
		return nil, errors.New("it is already running")
	}
	p.starts++
	r := &run{done: make(chan struct{})}
	stem := filepath.Join(p.spec.LogDir, fmt.Sprintf("%s.%d", p.spec.Name, p.starts))
	r.stdout, r.stderr = stem+".out", stem+".err"
	if err := r.start(p.spec, more); err != nil {
		return nil, err
	}
	p.run = r
	return r, nil
}

func (r *run) start(spec Spec, more []string) error {
	stdout, err := os.Create(r.stdout)
	if err != nil {
		return err
	}
	defer stdout.Close() // the child holds its own
	stderr, err := os.Create(r.stderr)
	if err != nil {
		return err
	}
	defer stderr.Close()
	r.cmd = exec.Command(spec.Binary, slices.Concat(spec.Args, more)...)
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = spec.Dir, stdout, stderr
	r.cmd.Env = append(os.Environ(), spec.Env...)
	dieWithParent(r.cmd)
	if err := r.cmd.Start(); err != nil {
		return err
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	return nil
}

func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (p *Process) awaitReady(ctx context.Context, r *run) error {
	return Poll(ctx, func() error {
		if r.ended() {
			return Stop(fmt.Errorf("it ended with exit code %d", r.cmd.ProcessState.ExitCode()))
		}
		return p.spec.Ready(ctx, p)
	})
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (p *Process) Kill() error { return p.end(context.Background(), syscall.SIGKILL) }

// Pause stops the process where it is, without its knowledge; Resume lets it go on. A paused process can be killed.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume ends a pause.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	r := p.current()
	if r == nil || r.ended() {
		return fmt.Errorf("%s is not running", p.spec.Name)
	}
	if err := r.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %v to %s: %w", s, p.spec.Name, err)
	}
	return nil
}

// Stop asks the process to end with SIGTERM and waits until it is gone. When ctx ends first the process is killed and
// the error says so.
func (p *Process) Stop(ctx context.Context) error { return p.end(ctx, syscall.SIGTERM) }

func (p *Process) end(ctx context.Context, signal syscall.Signal) error {
	r := p.current()
	if r == nil || r.ended() {
		return nil
	}
	if err := r.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.spec.Name, err)
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.spec.Name, err)
	}
	<-r.done
	return fmt.Errorf("%s did not end by itself and was killed: %w", p.spec.Name, ctx.Err())
}

// Wait waits until the process is gone and returns its exit code, -1 when a signal ended it.
func (p *Process) Wait(ctx context.Context) (int, error) {
	r := p.current()
	if r == nil {
		return 0, fmt.Errorf("%s was never started", p.spec.Name)
	}
	select {
	case <-r.done:
		return r.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%s is still running: %w", p.spec.Name, ctx.Err())
	}
}

// Done is closed when the present life of the process ends. It must have been started.
func (p *Process) Done() <-chan struct{} { return p.current().done }

// PID is the id of the present or last life, 0 before the first.
func (p *Process) PID() int {
	if r := p.current(); r != nil {
		return r.cmd.Process.Pid
	}
	return 0
}

// Starts is how many lives the process has had.
func (p *Process) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

func (p *Process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// Stdout and Stderr are what the present or last life printed so far.
func (p *Process) Stdout() string { return p.printed(func(r *run) string { return r.stdout }) }

// Stderr is the other half.
func (p *Process) Stderr() string { return p.printed(func(r *run) string { return r.stderr }) }

func (p *Process) printed(file func(*run) string) string {
	r := p.current()
	if r == nil {
		return ""
	}
	text, err := os.ReadFile(file(r))
	if err != nil {
		return fmt.Sprintf("(log not readable: %v)", err)
	}
	return string(text)
}

// Tail is the end of stderr, at most n bytes, for error messages.
func (p *Process) Tail(n int) string {
	text := p.Stderr()
	return text[max(0, len(text)-n):]
}

// Run runs a program to its end and returns stdout, stderr and the exit code. The error is not nil only when it could
// not be run or ctx ended.
func Run(ctx context.Context, binary string, stdin io.Reader, args ...string) (stdout, stderr string, code int, err error) {
	var out bytes.Buffer
	stderr, code, err = RunTo(ctx, &out, binary, stdin, args...)
	return out.String(), stderr, code, err
}

// RunTo is Run with stdout going to a writer, for answers too large to hold.
func RunTo(ctx context.Context, stdout io.Writer, binary string, stdin io.Reader, args ...string) (stderr string, code int, err error) {
	var diag bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &diag
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = nil
	}
	return diag.String(), cmd.ProcessState.ExitCode(), err
}
