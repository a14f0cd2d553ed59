package demo

import (
	"context"
	"errors"

	"fleetrelay/cmd/fleet/node"
	"fleetrelay/testenv/cluster"
)

// status asks a node's admin socket, as an operator's command would.
func status(ctx context.Context, n *cluster.Node) (node.Status, error) {
	c, err := node.Running(ctx, n.Dir)
	if err != nil {
		return node.Status{}, err
	}
	s, err := c.Status(ctx)
	return s, errors.Join(err, c.Close())
}

// condition tells whether the peer's row of a node's status is as wanted.
type condition func(node.PeerStatus) bool

func linked(p node.PeerStatus) bool { return p.Link == "up" }

func nothingWaits(p node.PeerStatus) bool { return p.OutHead == p.OutAcked }

// peerIs returns nil once the only peer of n fulfils the condition.
func peerIs(ctx context.Context, n *cluster.Node, ok condition) error {
	s, err := status(ctx, n)
	if err != nil {
		return err
	}
	if len(s.Peers) != 1 || !ok(s.Peers[0]) {
		return errNotYet
	}
	return nil
}
