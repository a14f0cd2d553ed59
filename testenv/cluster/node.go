// Package cluster makes nodes out of the real binary the way an operator does: init, serve, the peering ceremony, all through the
// command line, each node a process with a folder of its own. It owns no verdict.
package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/process"
)

// Options describe one node. Binary, Hub and Dir are required.
type Options struct {
	Binary string
	Hub    string
	Dir    string   // parent folder: the node's is Dir/Hub, its logs lie beside it
	Args   []string // more arguments of serve
	Env    []string // more environment of serve
}

// Node is one product process with its folder.
type Node struct {
	Hub    string
	Dir    string
	Agents string // address of the agents' listener
	Links  string // address of the links' listener
	Front  string // where peers dial it, "" for Links: a wire of package faults may stand before it
	Pin    string
	Proc   *process.Process
	binary string
}

// Patience bounds one start of a node, recovery included, and the wait for a link.
const Patience = 60 * time.Second

// Make runs init on free ports and prepares the process.
func Make(ctx context.Context, o Options) (*Node, error) {
	ports, err := process.FreePorts(2)
	if err != nil {
		return nil, err
	}
	n := &Node{binary: o.Binary, Hub: o.Hub, Dir: filepath.Join(o.Dir, o.Hub)}
	out, err := n.Command(
		ctx, "init", "--json", "--hub", o.Hub,
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
	n.Agents, n.Links, n.Pin = made.Agents, made.Links, made.Pin
	n.Proc = process.New(process.Spec{
		Name: o.Hub, Binary: o.Binary, Args: append([]string{"serve", "--dir", n.Dir}, o.Args...), Env: o.Env,
		LogDir: o.Dir, Ready: process.Says("ready"),
	})
	return n, nil
}

// Command runs one command on the node's folder and returns its stdout.
func (n *Node) Command(ctx context.Context, args ...string) (string, error) {
	out, diag, code, err := process.Run(ctx, n.binary, nil, append(args, "--dir", n.Dir)...)
	if err := n.failed(args, diag, code, err); err != nil {
		return "", err
	}
	return out, nil
}

func (n *Node) failed(args []string, diag string, code int, err error) error {
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(diag))
	}
	if err != nil {
		return fmt.Errorf("%s: fleet %s: %w", n.Hub, args[0], err)
	}
	return nil
}

// Start starts the process, in this life with more arguments, and waits until it serves.
func (n *Node) Start(ctx context.Context, more ...string) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return n.Proc.Start(ctx, more...)
}

// Stop ends the process as an operator does. Another exit code than 0 is an error.
func (n *Node) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if err := n.Proc.Stop(ctx); err != nil {
		return err
	}
	if code, err := n.Proc.Wait(ctx); err != nil || code != 0 {
		return fmt.Errorf("%s ended with exit code %d: %s", n.Hub, code, n.Proc.Tail(500))
	}
	return nil
}

// Online waits until exactly so many names are online.
func (n *Node) Online(ctx context.Context, names int) error {
	return process.Poll(ctx, func() error {
		s, err := n.Status(ctx)
		if err != nil {
			return err
		}
		if s.Online != names {
			return fmt.Errorf("%s has %d names online, not %d", n.Hub, s.Online, names)
		}
		return nil
	})
}

// Link is what a node says of its link to a peer.
type Link struct {
	Hub     string `json:"hub"`
	State   string `json:"link"`
	SinceUS int64  `json:"link_since_us"`
	Reason  string `json:"link_reason"`
	Remote  bool   `json:"link_remote"` // the peer said so
	Detail  string `json:"link_detail"`
}

// Status is the part of `fleet status --json` that runs look at.
type Status struct {
	Online   int               `json:"online"`
	Peers    []Link            `json:"peers"`
	Refusals map[string]uint64 `json:"refusals"`
}

// Status asks the node.
func (n *Node) Status(ctx context.Context) (*Status, error) {
	out, err := n.Command(ctx, "status", "--json")
	if err != nil {
		return nil, err
	}
	s := &Status{}
	if err := wire.UnmarshalLax([]byte(out), s); err != nil {
		return nil, fmt.Errorf("answer of status: %w", err)
	}
	return s, nil
}

// Link asks the node about its link to a peer, which it must have.
func (n *Node) Link(ctx context.Context, peer string) (Link, error) {
	s, err := n.Status(ctx)
	if err != nil {
		return Link{}, err
	}
	for _, p := range s.Peers {
		if p.Hub == peer {
			return p, nil
		}
	}
	return Link{}, fmt.Errorf("%s has no peer %s", n.Hub, peer)
}

// Linked waits until the link to a peer is up.
func (n *Node) Linked(ctx context.Context, peer string) error {
	return process.Poll(ctx, func() error {
		link, err := n.Link(ctx, peer)
		if err != nil {
			return err
		}
		if link.State != "up" {
			return fmt.Errorf("%s has no link to %s", n.Hub, peer)
		}
		return nil
	})
}

// Export writes the whole journal, bodies included, beside the node's folder and returns the file.
func (n *Node) Export(ctx context.Context) (string, error) {
	path := n.Dir + ".export.jsonl"
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	args := []string{"journal", "export", "--bodies", "--dir", n.Dir}
	diag, code, err := process.RunTo(ctx, file, n.binary, nil, args...)
	if err := n.failed(args, diag, code, err); err != nil {
		return "", err
	}
	return path, file.Close()
}
