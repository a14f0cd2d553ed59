package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"fleetrelay/hub"
	"fleetrelay/hub/wire"
)

// Client runs admin operations on one node, serving or stopped; see Connect. It is safe for concurrent use.
type Client struct {
	// Running says that the node serves; false means that this process has its folder open.
	Running bool

	http  http.Client
	close func() error
	stuck *Refusal // the refusal of a node that does not answer; nil: the node is in this process, and is waited for
	wait  time.Duration
}

// Connect reaches the node in o.Dir: through its admin socket if it serves, else by opening its folder here, which
// keeps it from being started until Close. The errors are those of Open.
func Connect(ctx context.Context, o Options) (*Client, error) {
	c, err := Running(ctx, o.Dir)
	if err == nil || ReasonOf(err) != wire.ReasonNotRunning {
		return c, err
	}
	n, err := Open(o)
	if ReasonOf(err) == wire.ReasonAlreadyRunning {
		return Running(ctx, o.Dir) // it was about to serve
	}
	if err != nil {
		return nil, err
	}
	return n.offline(), nil
}

// Running reaches the node in dir if it serves. The reason is not_running otherwise, store_missing where there is no
// node, permission_denied where it is another user's, and not_answering where it is stuck. Requests to a node that does
// not answer within answerPatience are refused with not_answering.
func Running(ctx context.Context, dir string) (*Client, error) {
	probe, err := dialAdmin(ctx, dir)
	switch {
	case errors.Is(err, errNotRunning) && !Initialised(dir):
		return nil, noNode(dir)
	case errors.Is(err, errNotRunning):
		return nil, &Refusal{Reason: wire.ReasonNotRunning, Text: "no node serves " + dir, Next: Command("serve")}
	case errors.Is(err, fs.ErrPermission):
		return nil, denied(filepath.Join(dir, AdminSocket))
	case errors.Is(err, syscall.EAGAIN): // as many commands wait as the system lets
		return nil, notAnswering(dir, 0)
	}
	if err != nil {
		return nil, err
	}
	pid := socketProcess(probe)
	if err := probe.Close(); err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialAdmin(ctx, dir) }}
	c := newClient(true, transport, func() error { return nil })
	c.stuck, c.wait = notAnswering(dir, pid), answerPatience
	return c, nil
}

func newClient(running bool, transport *http.Transport, end func() error) *Client {
	c := &Client{Running: running, http: http.Client{Transport: transport}}
	c.close = func() error {
		transport.CloseIdleConnections()
		return end()
	}
	return c
}

// Close ends the connection, and the node if this process opened it.
func (c *Client) Close() error { return c.close() }

// Status asks what the node is and does.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, http.MethodGet, pathStatus, nil)
}

// Peers asks which hubs were approved, revoked and rejected.
func (c *Client) Peers(ctx context.Context) (Known, error) {
	return ask[Known](ctx, c, http.MethodGet, pathPeers, nil)
}

// Invite makes an invitation; the answer is the only place that ever shows its token.
func (c *Client) Invite(ctx context.Context, r InviteRequest) (Invite, error) {
	return ask[Invite](ctx, c, http.MethodPost, pathInvite, r)
}

// Invites lists the invitations of this node.
func (c *Client) Invites(ctx context.Context) (InviteList, error) {
	return ask[InviteList](ctx, c, http.MethodGet, pathInvites, nil)
}

// Withdraw ends an open invitation.
func (c *Client) Withdraw(ctx context.Context, w Withdrawal) (InviteStatus, error) {
	return ask[InviteStatus](ctx, c, http.MethodPost, pathInvites, w)
}

// Join takes another hub's invitation.
func (c *Client) Join(ctx context.Context, r JoinRequest) (Pending, error) {
	return ask[Pending](ctx, c, http.MethodPost, pathJoin, r)
}

// Pending lists the hubs that wait for a decision.
func (c *Client) Pending(ctx context.Context) (PendingList, error) {
	return ask[PendingList](ctx, c, http.MethodGet, pathPending, nil)
}

// Approve makes a hub a peer.
func (c *Client) Approve(ctx context.Context, a Approval) (Approved, error) {
	return ask[Approved](ctx, c, http.MethodPost, pathApprove, a)
}

// Reject turns a pending key away; the answer is what was turned away.
func (c *Client) Reject(ctx context.Context, r Rejection) (Rejected, error) {
	return ask[Rejected](ctx, c, http.MethodPost, pathReject, r)
}

// Revoke ends the approval of a hub.
func (c *Client) Revoke(ctx context.Context, r Revocation) (RevokedPeer, error) {
	return ask[RevokedPeer](ctx, c, http.MethodPost, pathRevoke, r)
}

// Reconcile lets the lanes with a fenced peer begin anew.
func (c *Client) Reconcile(ctx context.Context, r ReconcileRequest) (hub.Reconciliation, error) {
	return ask[hub.Reconciliation](ctx, c, http.MethodPost, pathReconcile, r)
}

// CreateToken makes an agent token; the answer is the only place that ever shows it.
func (c *Client) CreateToken(ctx context.Context, seat string) (Token, error) {
	return ask[Token](ctx, c, http.MethodPost, pathTokens, TokenRequest{Seat: seat})
}

// Tokens lists the agent tokens.
func (c *Client) Tokens(ctx context.Context) (Tokens, error) {
	return ask[Tokens](ctx, c, http.MethodGet, pathTokens, nil)
}

// RevokeToken ends a token and every socket that used it.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := ask[Empty](ctx, c, http.MethodDelete, pathTokens+"/"+url.PathEscape(id), nil)
	return err
}

// Send sends one chat; it returns once the chat is durable.
func (c *Client) Send(ctx context.Context, r SendRequest) (Sent, error) {
	return ask[Sent](ctx, c, http.MethodPost, pathSend, r)
}

// Purge removes one body.
func (c *Client) Purge(ctx context.Context, r PurgeRequest) error {
	_, err := ask[Empty](ctx, c, http.MethodPost, pathPurge, r)
	return err
}

// Watch hands each line of what a seat gets and gives to line, until ctx ends or the node stops.
func (c *Client) Watch(ctx context.Context, seat string, line func([]byte) error) error {
	err := c.stream(ctx, pathWatch+"?"+url.Values{"seat": {seat}}.Encode(), line)
	if ctx.Err() != nil {
		return nil // the caller had enough
	}
	return err
}

// Export hands the journal's events from..to (0: to the end), one JSON object a line, to line. A from beyond the end is
// refused with no_such_event.
func (c *Client) Export(ctx context.Context, from, to uint64, bodies bool, line func([]byte) error) error {
	q := url.Values{"from": {strconv.FormatUint(from, 10)}, "to": {strconv.FormatUint(to, 10)}, "bodies": {strconv.FormatBool(bodies)}}
	return c.stream(ctx, pathExport+"?"+q.Encode(), line)
}

func ask[T any](ctx context.Context, c *Client, method, path string, in any) (T, error) {
	var out T
	var body io.Reader
	if in != nil {
		b, err := wire.Marshal(in)
		if err != nil {
			return out, err
		}
		body = bytes.NewReader(b)
	}
	ctx, _, done := c.bounded(ctx)
	defer done()
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return out, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return out, because(ctx, err)
	}
	return out, wire.UnmarshalLax(answer, &out)
}

// do sends one request and turns an unsuccessful answer into its refusal.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, because(ctx, ctx.Err())
	case err != nil:
		return nil, &Refusal{Reason: errCutShort.Reason, Text: errCutShort.Text, Next: errCutShort.Next, Err: err}
	case resp.StatusCode == http.StatusOK:
		return resp, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, because(ctx, err)
	}
	var f failure
	if err := wire.UnmarshalLax(text, &f); err != nil {
		return nil, err
	}
	return nil, &Refusal{Reason: reasonOfPeer(f.Reason), Text: f.Text, Next: nextOf(f.Next)}
}

// reasonOfPeer takes a word over the admin socket. A node of another build may know more words than this one.
func reasonOfPeer(word string) wire.Reason { return wire.Reason(word) }

// endOfStream is the trailer that tells a whole stream from one that a dying node cut short.
const endOfStream = "Fleet-Complete"

// errCutShort: the node went away in the middle of an answer.
var errCutShort = &Refusal{Reason: wire.ReasonNotRunning, Text: "the node went away before its answer was whole", Next: Command("status")}

func (c *Client) stream(ctx context.Context, path string, line func([]byte) error) error {
	ctx, met, done := c.bounded(ctx)
	defer done()
	resp, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	met() // from here on silence may mean that there is nothing to tell
	err = eachLine(resp.Body, line)
	if err == nil && resp.Trailer.Get(endOfStream) == "" {
		err = errCutShort
	}
	return errors.Join(err, resp.Body.Close())
}

func eachLine(r io.Reader, line func([]byte) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		text, err := br.ReadBytes('\n')
		if len(text) > 0 && err == nil {
			if lerr := line(text); lerr != nil {
				return lerr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.Join(errCutShort, err)
		}
	}
}
