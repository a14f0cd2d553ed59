package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"fleetrelay/hub/wire"
	"fleetrelay/testenv/process"
)

// Approve makes the other node a peer by its pin and address alone, without a ceremony; it may reach the seats of the
// patterns. Both nodes may be stopped.
func (n *Node) Approve(ctx context.Context, other *Node, mayReach ...string) error {
	return n.approve(ctx, mayReach, other.Pin, "--hub", other.Hub, "--endpoint", other.front())
}

func (n *Node) approve(ctx context.Context, mayReach []string, key string, args ...string) error {
	args = append([]string{"peer", "approve", key, "--by", "test"}, args...)
	for _, pattern := range mayReach {
		args = append(args, "--may-reach", pattern)
	}
	_, err := n.Command(ctx, args...)
	return err
}

// front is where other hubs are told to reach the node.
func (n *Node) front() string { return cmp.Or(n.Front, n.Links) }

// Invite makes an invitation and returns its token.
func (n *Node) Invite(ctx context.Context) (token string, err error) {
	var made struct {
		Token string `json:"token"`
	}
	return made.Token, n.ask(ctx, &made, func() string { return made.Token }, "peer", "invite", "--endpoint", n.front())
}

// Take joins with a token and returns the code that both sides see.
func (n *Node) Take(ctx context.Context, token string) (code string, err error) {
	var row struct {
		Code string `json:"code"`
	}
	return row.Code, n.ask(ctx, &row, func() string { return row.Code }, "peer", "join", token)
}

// ask runs a command for its JSON, in which got must find something.
func (n *Node) ask(ctx context.Context, answer any, got func() string, args ...string) error {
	out, err := n.Command(ctx, append(args, "--json")...)
	if err != nil {
		return err
	}
	if err := wire.UnmarshalLax([]byte(out), answer); err != nil || got() == "" {
		return fmt.Errorf("%s: fleet %s answered nothing of use: %w", n.Hub, args[1], err)
	}
	return nil
}

// ApproveCode approves the other node, which waits with a code.
func (n *Node) ApproveCode(ctx context.Context, other *Node, code string, mayReach ...string) error {
	return n.approve(ctx, mayReach, code, "--endpoint", other.front())
}

// Called waits until a hub with a code waits for approval.
func (n *Node) Called(ctx context.Context, code string) error {
	return process.Poll(ctx, func() error {
		var list struct {
			Pending []struct {
				Code string `json:"code"`
			} `json:"pending"`
		}
		out, err := n.Command(ctx, "peer", "pending", "--json")
		if err != nil {
			return err
		}
		if err := wire.UnmarshalLax([]byte(out), &list); err != nil {
			return process.Stop(err)
		}
		for _, row := range list.Pending {
			if row.Code == code {
				return nil
			}
		}
		return fmt.Errorf("%s has not been called by the hub with code %s", n.Hub, code)
	})
}

// Join peers two running nodes by the whole ceremony and waits until the link is up on both: a invites, b joins, both
// compare the code and approve.
func Join(ctx context.Context, a, b *Node, mayReach ...string) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	token, err := a.Invite(ctx)
	if err != nil {
		return err
	}
	code, err := b.Take(ctx, token)
	if err != nil {
		return err
	}
	if err := b.ApproveCode(ctx, a, code, mayReach...); err != nil {
		return err
	}
	if err := a.Called(ctx, code); err != nil {
		return err
	}
	if err := a.ApproveCode(ctx, b, code, mayReach...); err != nil {
		return err
	}
	return errors.Join(a.Linked(ctx, b.Hub), b.Linked(ctx, a.Hub))
}
