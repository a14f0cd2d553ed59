package node

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"

	"fleetrelay/hub/wire"
)

// Paths of the admin socket.
const (
	pathStatus = "/status"
	pathPeers  = "/peers"
	pathTokens = "/tokens"
	pathSend   = "/send"
	pathPurge  = "/purge"
	pathWatch  = "/watch"
	pathExport = "/export"
	pathQueues = "/queues"

	pathInvite  = "/peers/invite"
	pathInvites = "/peers/invites"
	pathJoin    = "/peers/join"
	pathPending = "/peers/pending"
	pathApprove = "/peers/approve"
	pathReject  = "/peers/reject"
	pathRevoke  = "/peers/revoke"

	pathReconcile = "/reconcile"
)

// maxAdminBody bounds a request on the admin socket: the largest frame and room for its wrapping.
const maxAdminBody = maxFrame + 64<<10

type userKey struct{}

// adminHandler answers the admin socket. Every operation acts as the user at the other end.
func (n *Node) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathStatus, answer(n, func(ctx context.Context, _ Empty) (Status, error) { return n.Status(ctx) }))
	mux.HandleFunc("GET "+pathPeers, answer(n, n.known))
	mux.HandleFunc("POST "+pathInvite, answer(n, n.invite))
	mux.HandleFunc("GET "+pathInvites, answer(n, n.invites))
	mux.HandleFunc("POST "+pathInvites, answer(n, n.withdraw))
	mux.HandleFunc("POST "+pathJoin, answer(n, n.join))
	mux.HandleFunc("GET "+pathPending, answer(n, n.pending))
	mux.HandleFunc("POST "+pathApprove, answer(n, n.approve))
	mux.HandleFunc("POST "+pathReject, answer(n, n.reject))
	mux.HandleFunc("POST "+pathRevoke, answer(n, n.revoke))
	mux.HandleFunc("POST "+pathReconcile, answer(n, n.reconcile))
	mux.HandleFunc("GET "+pathTokens, answer(n, n.tokens))
	mux.HandleFunc("POST "+pathTokens, answer(n, n.createToken))
	mux.HandleFunc("DELETE "+pathTokens+"/{id}", n.revokeToken)
	mux.HandleFunc("POST "+pathSend, answer(n, n.send))
	mux.HandleFunc("POST "+pathPurge, answer(n, n.purge))
	mux.HandleFunc("GET "+pathWatch, n.watch)
	mux.HandleFunc("GET "+pathExport, n.export)
	mux.HandleFunc("GET "+pathQueues, answer(n, n.queues))
	mux.HandleFunc("GET "+pathQueues+"/{hub}", n.queueOf)
	return mux
}

// withUser is an http.Server's ConnContext: it remembers who connected.
func withUser(ctx context.Context, c net.Conn) context.Context {
	who := socketUser(c)
	if _, offline := c.(memoryConn); offline {
		who = ProcessUser()
	}
	return context.WithValue(ctx, userKey{}, who)
}

// userOf is the user of a request; the connection's, never the request's own word.
func userOf(ctx context.Context) string {
	who, ok := ctx.Value(userKey{}).(string)
	if !ok || who == "" {
		return "unknown"
	}
	return who
}

// answer makes a handler of a function from a JSON request to a JSON answer.
func answer[In, Out any](n *Node, fn func(context.Context, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
			if err == nil {
				err = wire.Unmarshal(body, &in)
			}
			if err != nil {
				n.refuse(w, &Refusal{Reason: wire.ReasonMalformedJSON, Text: "the request is not what this operation takes", Next: Advice("use the build that the node runs, whose version fleet status shows"), Err: err})
				return
			}
		}
		out, err := fn(r.Context(), in)
		if err != nil {
			n.refuse(w, err)
			return
		}
		reply(w, http.StatusOK, out)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	b, err := wire.Marshal(v)
	if err != nil {
		http.Error(w, string(wire.ReasonInternalError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A failed write means that the command has gone; it knows.
	_, _ = w.Write(b)
}

// refuse answers with the refusal of err. Once the journal has failed everything fails for that one reason.
func (n *Node) refuse(w http.ResponseWriter, err error) {
	r := Explain(err)
	if broken := n.broken.Load(); broken != nil && r.Reason == wire.ReasonInternalError {
		r = Explain(*broken)
	}
	text := r.Text
	if r.Err != nil {
		text += ": " + r.Err.Error() // the operator's own socket: the cause is theirs to see
	}
	reply(w, http.StatusUnprocessableEntity, failure{Reason: string(r.Reason), Text: text, Next: r.Next.String()})
}

func (n *Node) revokeToken(w http.ResponseWriter, r *http.Request) {
	answer(n, func(ctx context.Context, _ Empty) (Empty, error) {
		return Empty{}, n.endToken(ctx, r.PathValue("id"))
	})(w, r)
}

// lines writes a stream of JSON lines and, when it came to its end, says so in the trailer.
type lines struct {
	w     http.ResponseWriter
	flush bool
}

func startLines(w http.ResponseWriter, flush bool) *lines {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Trailer", endOfStream)
	w.WriteHeader(http.StatusOK)
	l := &lines{w: w, flush: flush}
	l.sync()
	return l
}

func (l *lines) put(v any) error {
	b, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := l.w.Write(append(b, '\n')); err != nil {
		return err
	}
	if l.flush {
		l.sync()
	}
	return nil
}

func (l *lines) sync() {
	if f, ok := l.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (l *lines) end() { l.w.Header().Set(endOfStream, "yes") }

func (n *Node) export(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, ferr := strconv.ParseUint(q.Get("from"), 10, 64)
	to, terr := strconv.ParseUint(q.Get("to"), 10, 64)
	if err := errors.Join(ferr, terr); err != nil {
		n.refuse(w, &Refusal{Reason: wire.ReasonMalformedFrame, Text: "from and to are numbers", Next: Command("journal", "export", "--help"), Err: err})
		return
	}
	// Once the lines have begun there is no place for a refusal.
	if err := checkStart(n.store, from); err != nil {
		n.refuse(w, err)
		return
	}
	l := startLines(w, false)
	err := exportEvents(r.Context(), n.store, from, to, q.Get("bodies") == "true", l.put)
	if err != nil {
		n.log.Warn("export cut short", "error", err)
		return
	}
	l.end()
}
