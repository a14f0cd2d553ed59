package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/federation"
	"fleetrelay/hub/client"
	"fleetrelay/relay"
	"fleetrelay/testenv/process"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fleet": checkedMain})
}

// checkedMain is main that also holds every next step that it prints against the rule of node.Next.
func checkedMain() {
	var said bytes.Buffer
	code := run(os.Args[1:], os.Stdout, io.MultiWriter(os.Stderr, &said))
	for line := range strings.Lines(said.String()) {
		next, told := strings.CutPrefix(strings.TrimSpace(line), "next: ")
		if err := checkNext(next); told && err != nil {
			fmt.Fprintf(os.Stderr, "a next step breaks the rule: %v\n", err)
			code = ruleBroken
		}
	}
	os.Exit(code)
}

// ruleBroken is an exit code that the program itself never has.
const ruleBroken = 99

// TestScripts runs the command line as people do. Scripts name every refusal they expect by exit code, reason word and
// next step.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":    codeCommand,
			"ports":   portsCommand,
			"occupy":  occupyCommand,
			"ready":   readyCommand,
			"pinof":   pinofCommand,
			"field":   fieldCommand,
			"called":  calledCommand,
			"expired": expiredCommand,
			"attend":  attendCommand,
			"wrapped": func(ts *testscript.TestScript, _ bool, args []string) {
				half := len(args[2]) / 2
				ts.Setenv(args[0], args[2][:half])
				ts.Setenv(args[1], args[2][half:half+4]+"\r\n "+args[2][half+4:])
			},
			"tokenid": tokenidCommand,
			"talk":    talkCommand,
			"signal":  signalCommand,
			"pidof":   pidofCommand,
			"refused": func(ts *testscript.TestScript, _ bool, args []string) {
				await(ts, args[0], func(s node.Status) bool { return len(s.Peers) == 1 && s.Peers[0].LinkReason == args[1] })
			},
			"linked": func(ts *testscript.TestScript, _ bool, args []string) {
				await(ts, args[0], func(s node.Status) bool { return len(s.Peers) == 1 && s.Peers[0].Link == string(relay.Up) })
			},
			"unlinked": func(ts *testscript.TestScript, _ bool, args []string) {
				await(ts, args[0], func(s node.Status) bool { return len(s.Peers) == 1 && !s.Peers[0].LinkUp() })
			},
			"idle": func(ts *testscript.TestScript, _ bool, args []string) {
				await(ts, args[0], func(s node.Status) bool { return len(s.Peers) == 1 && s.Peers[0].OutHead == s.Peers[0].OutAcked })
			},
			"fenced": func(ts *testscript.TestScript, _ bool, args []string) {
				await(ts, args[0], func(s node.Status) bool { return len(s.Peers) == 1 && s.Peers[0].Link == string(relay.Fenced) })
			},
			"measured": func(ts *testscript.TestScript, _ bool, args []string) {
				await(ts, args[0], func(s node.Status) bool { return len(s.Peers) == 1 && s.Peers[0].RTTUS > 0 })
			},
			"unwatched": func(ts *testscript.TestScript, _ bool, args []string) {
				await(ts, args[0], func(s node.Status) bool { return s.Watchers == 0 })
			},
			"watching": func(ts *testscript.TestScript, _ bool, args []string) {
				await(ts, args[0], func(s node.Status) bool { return s.Watchers > 0 })
			},
		},
	})
}

// patience bounds every wait of these tests; a wait ends as soon as its condition holds.
const patience = 30 * time.Second

// codeCommand: `code N fleet …` runs a command and asserts its exit code.
func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command args")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// portsCommand: `ports A B` sets the variables to free ports.
func portsCommand(ts *testscript.TestScript, _ bool, args []string) {
	ports, err := process.FreePorts(len(args))
	ts.Check(err)
	for i, name := range args {
		ts.Setenv(name, strconv.Itoa(ports[i]))
	}
}

// pinofCommand: `pinof VAR DIR` sets the variable to the pin of a stopped node.
func pinofCommand(ts *testscript.TestScript, _ bool, args []string) {
	c, err := node.Connect(context.Background(), node.Options{Dir: ts.MkAbs(args[1])})
	ts.Check(err)
	s, err := c.Status(context.Background())
	ts.Check(closeAfter(err, c))
	ts.Setenv(args[0], s.Pin)
}

// talkCommand: `talk DIR FROM TO` lets two agents of a running node send each other a message.
func talkCommand(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	admin, err := node.Running(ctx, ts.MkAbs(args[0]))
	ts.Check(err)
	s, err := admin.Status(ctx)
	ts.Check(closeAfter(err, admin))
	got := make(chan string, 2)
	var agents [2]*client.Client
	for i, name := range args[1:] {
		agents[i], err = client.Dial(ctx, client.Options{URL: "ws://" + s.Agents, Name: name, OnEvent: func(ev client.Event) {
			if chat, ok := ev.(client.Chat); ok && chat.Target == name {
				got <- name
			}
		}})
		ts.Check(err)
		defer agents[i].Close()
	}
	for i, agent := range agents {
		to := args[2-i]
		_, err := agent.SendAccepted(ctx, client.Message{To: to, Text: "hello"})
		ts.Check(err)
		select {
		case name := <-got:
			if name != to {
				ts.Fatalf("%s got what was sent to %s", name, to)
			}
		case <-ctx.Done():
			ts.Fatalf("%s got nothing", to)
		}
	}
}

// pidofCommand: `pidof VAR DIR` sets the variable to the process of a running node.
func pidofCommand(ts *testscript.TestScript, _ bool, args []string) {
	await(ts, args[1], func(s node.Status) bool {
		ts.Setenv(args[0], strconv.Itoa(s.PID))
		return s.Running
	})
}

// signalCommand: `signal stop|go PID` stops a process as a shell's job control does, or lets it go on.
func signalCommand(ts *testscript.TestScript, _ bool, args []string) {
	pid, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(syscall.Kill(pid, map[string]syscall.Signal{"stop": syscall.SIGSTOP, "go": syscall.SIGCONT}[args[0]]))
}

// attendCommand: `attend DIR NAME` keeps an agent connected to a running node until the script ends.
func attendCommand(ts *testscript.TestScript, _ bool, args []string) {
	agents := ""
	await(ts, args[0], func(s node.Status) bool { agents = s.Agents; return s.Running })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	agent, err := client.Dial(ctx, client.Options{URL: "ws://" + agents, Name: args[1]})
	ts.Check(err)
	ts.Defer(func() { ts.Check(agent.Close()) })
	await(ts, args[0], func(s node.Status) bool { return slices.Contains(s.OnlineNames, args[1]) })
}

// tokenidCommand: `tokenid VAR SEAT DIR` sets the variable to the id of the seat's token, which has the form of the one
// that the help of revoke shows.
func tokenidCommand(ts *testscript.TestScript, _ bool, args []string) {
	c, err := node.Connect(context.Background(), node.Options{Dir: ts.MkAbs(args[2])})
	ts.Check(err)
	list, err := c.Tokens(context.Background())
	ts.Check(closeAfter(err, c))
	example := strings.Fields((&app{}).tokenRevokeCommand().Example)
	form := regexp.MustCompile(`[0-9a-f]`).ReplaceAllString(example[len(example)-1], "[0-9a-f]")
	for _, t := range list.Tokens {
		if t.Seat != args[1] {
			continue
		}
		if !regexp.MustCompile("^" + form + "$").MatchString(t.ID) {
			ts.Fatalf("the id %s has not the form of the example %q", t.ID, example)
		}
		ts.Setenv(args[0], t.ID)
		return
	}
	ts.Fatalf("no token for %s", args[1])
}

// fieldCommand: `field VAR LABEL` sets the variable to what stood beside a label in the last command's answer.
func fieldCommand(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		if label, value, _ := strings.Cut(strings.TrimSpace(line), " "); label == args[1] {
			ts.Setenv(args[0], strings.TrimSpace(value))
			return
		}
	}
	ts.Fatalf("no line begins with %s", args[1])
}

// calledCommand: `called DIR CODE` waits until a hub with this code waits for approval.
func calledCommand(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ts.Check(process.Poll(ctx, func() error {
		c, err := node.Running(ctx, ts.MkAbs(args[0]))
		if err != nil {
			return err
		}
		list, err := c.Pending(ctx)
		if err == nil && !slices.ContainsFunc(list.Pending, func(p node.Pending) bool { return p.Code == args[1] }) {
			err = errNotYet
		}
		return closeAfter(err, c)
	}))
}

// expiredCommand: `expired TOKEN` waits until an invitation is over.
func expiredCommand(ts *testscript.TestScript, _ bool, args []string) {
	inv, err := federation.ParseToken(args[0])
	ts.Check(err)
	<-time.After(time.Until(time.UnixMicro(inv.ExpiresUS)))
}

// occupyCommand: `occupy tcp|udp ADDR` holds an address until the script ends.
func occupyCommand(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "udp" {
		c, err := net.ListenPacket("udp", args[1])
		ts.Check(err)
		ts.Defer(func() { ts.Check(c.Close()) })
		return
	}
	l, err := net.Listen("tcp", args[1])
	if errors.Is(err, syscall.EADDRINUSE) {
		return // a node of this machine's user holds it: just as taken
	}
	ts.Check(err)
	ts.Defer(func() { ts.Check(l.Close()) })
}

// readyCommand: `ready DIR` waits until a node serves the folder.
func readyCommand(ts *testscript.TestScript, _ bool, args []string) {
	await(ts, args[0], func(s node.Status) bool { return s.Running })
}

var errNotYet = errors.New("the condition does not hold yet")

// await waits until the status of the node that serves dir fulfils a condition.
func await(ts *testscript.TestScript, dir string, condition func(node.Status) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ts.Check(process.Poll(ctx, func() error {
		c, err := node.Running(ctx, ts.MkAbs(dir))
		if err != nil {
			return err
		}
		s, err := c.Status(ctx)
		if err == nil && !condition(s) {
			err = errNotYet
		}
		return closeAfter(err, c)
	}))
}
