package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/process"
)

// node is one product process with its folder.
type node struct {
	binary, hub, dir string
	agents           string // address of the agents' listener
	links, pin       string
	proc             *process.Process
}

// startPatience bounds one start of a node, recovery included.
const startPatience = 60 * time.Second

// makeNode runs init on free ports.
func makeNode(ctx context.Context, o *Options, hub string) (*node, error) {
	ports, err := process.FreePorts(2)
	if err != nil {
		return nil, err
	}
	n := &node{binary: o.Binary, hub: hub, dir: filepath.Join(o.Dir, hub)}
	out, err := n.cli(
		ctx, "init", "--json", "--hub", hub,
		"--agents", fmt.Sprintf("127.0.0.1:%d", ports[0]), "--links", fmt.Sprintf("127.0.0.1:%d", ports[1]),
	)
	if err != nil {
		return nil, err
	}
	var made struct {
		Agents string `json:"agents"`
		Links  string `json:"links"`
		Pin    string `json:"pin"`
	}
	if err := wire.UnmarshalLax([]byte(out), &made); err != nil {
		return nil, fmt.Errorf("answer of init: %w", err)
	}
	n.agents, n.links, n.pin = made.Agents, made.Links, made.Pin
	args := []string{"serve", "--dir", n.dir}
	if o.Fault != "" {
		args = append(args, "--testing__fault", o.Fault)
	}
	n.proc = process.New(process.Spec{Name: hub, Binary: o.Binary, Args: args, LogDir: o.Dir, Ready: process.Says("ready")})
	return n, nil
}

// cli runs one command on the node's folder and returns its stdout.
func (n *node) cli(ctx context.Context, args ...string) (string, error) {
	out, diag, code, err := process.Run(ctx, n.binary, nil, append(args, "--dir", n.dir)...)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(diag))
	}
	if err != nil {
		return "", fmt.Errorf("%s: fleet %s: %w", n.hub, args[0], err)
	}
	return out, nil
}

// start starts the process and waits until it serves.
func (n *node) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	return n.proc.Start(ctx)
}

// approve makes the other node a peer that may reach every seat of the run.
func (n *node) approve(ctx context.Context, other *node) error {
	_, err := n.cli(
		ctx, "peer", "add", "--hub", other.hub, "--endpoint", other.links, "--pin", other.pin,
		"--may-reach", project+"/*", "--by", "crash run",
	)
	return err
}

// linked waits until the link to the only peer is up.
func (n *node) linked(ctx context.Context) error {
	return process.Poll(ctx, func() error {
		out, err := n.cli(ctx, "status", "--json")
		if err != nil {
			return err
		}
		var s struct {
			Peers []struct {
				Link string `json:"link"`
			} `json:"peers"`
		}
		if err := wire.UnmarshalLax([]byte(out), &s); err != nil {
			return process.Stop(err)
		}
		if len(s.Peers) != 1 || s.Peers[0].Link != "up" {
			return errors.New("the link is not up")
		}
		return nil
	})
}

// export writes the whole journal, bodies included, and returns the file.
func (n *node) export(ctx context.Context) (string, error) {
	path := n.dir + ".export.jsonl"
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	diag, code, err := process.RunTo(ctx, file, n.binary, nil, "journal", "export", "--bodies", "--dir", n.dir)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(diag))
	}
	if err != nil {
		return "", fmt.Errorf("%s: journal export: %w", n.hub, err)
	}
	return path, file.Close()
}
