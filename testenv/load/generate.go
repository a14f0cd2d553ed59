package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetrelay/hub/wire"
)

// Target is where a subject is to be driven.
type Target struct {
	Senders string // HOST:PORT of the hub of the senders
	Reader  string // HOST:PORT of the hub of the reader
	To      string // address of the reader as the senders use it: ReaderSeat, or ReaderSeat@hub
	// Receipts says that the hub tells its senders what became of their messages.
	Receipts bool
}

// ReaderSeat is the reader's name on its hub.
const ReaderSeat = "bench/reader"

// Shape is one kind of load.
type Shape struct {
	Name    string
	Senders int
	Window  int // messages in flight per sender
	Bytes   int // of one JSON frame as sent; 0 is 400
	// Receipts asks for a receipt of each message, where the target tells them. Its place does not wait for it, but a
	// message counts only once its sender was told that it is delivered.
	Receipts bool
}

// Shapes are the three loads of docs/performance.md.
func Shapes() []Shape {
	return []Shape{
		{Name: "1 sender, one in flight", Senders: 1, Window: 1},
		{Name: "64 senders, one in flight", Senders: 64, Window: 1},
		{Name: "64 senders, 32 in flight", Senders: 64, Window: 32},
	}
}

// Length says when a measurement ends: after Messages when that is set, else after For. Warmup comes before and is not
// counted.
type Length struct {
	Warmup, For time.Duration
	Messages    int
}

// Measured is what the generator saw.
type Measured struct {
	Messages int     `json:"messages"`
	Seconds  float64 `json:"seconds"`
	PerS     float64 `json:"messages_per_s"`
	P50MS    float64 `json:"p50_ms"`
	P99MS    float64 `json:"p99_ms"`
	Finished int     `json:"-"` // messages with those before and after counting
}

// patience bounds the wait for what is in flight when a measurement ends, and for a registration.
const patience = 30 * time.Second

// generator is one measurement in progress.
type generator struct {
	shape   Shape
	asks    bool // for receipts
	to      string
	senders []*sender
	reader  *webSocket
	stop    atomic.Bool
	begun   atomic.Bool // counting
	stats   histogram
	done    atomic.Int64  // messages finished since counting began
	all     atomic.Int64  // messages finished
	told    atomic.Int64  // receipts since counting began
	toldAll atomic.Int64  // receipts
	more    chan struct{} // capacity 1: a receipt came
	limit   int64         // 0 without one
	reached chan struct{}
	once    sync.Once
}

// sender is one connection with its window.
type sender struct {
	ws    *webSocket
	free  chan int // places of the window
	slots []slot
}

// slot is one place: when its message left and which of its parts have come.
type slot struct {
	sentNS atomic.Int64
	parts  atomic.Uint32
}

const (
	partCopy = 1 // the hub answered
	partRead = 2 // the reader has it
)

// askReceipt is the member that asks.
const askReceipt = `,"receipt_requested":true`

// Generate drives a target and measures. begin and end, if not nil, are called where counting begins and ends.
func Generate(ctx context.Context, t Target, s Shape, l Length, begin, end func()) (Measured, error) {
	if s.Bytes == 0 {
		s.Bytes = 400
	}
	g := &generator{
		shape: s, asks: s.Receipts && t.Receipts, to: t.To, limit: int64(l.Messages), reached: make(chan struct{}), more: make(chan struct{}, 1),
	}
	defer g.close()
	if err := g.connect(ctx, t); err != nil {
		return Measured{}, err
	}
	run, ctx := errgroup.WithContext(ctx)
	run.Go(g.read)
	for i, s := range g.senders {
		run.Go(func() error { return g.copies(i, s) })
		run.Go(func() error { return g.send(ctx, i, s) })
	}
	var m Measured
	run.Go(func() error {
		var err error
		if m, err = g.measure(ctx, l, begin, end); err == nil {
			err = g.drain(ctx)
		}
		m.Finished = int(g.all.Load())
		if err != nil {
			g.close() // ends the readers
			return err
		}
		g.leave()
		return errFinished
	})
	err := run.Wait()
	if errors.Is(err, errFinished) {
		err = nil
	}
	return m, err
}

// errFinished ends the readers of a measurement that is over.
var errFinished = errors.New("the measurement is over")

func (g *generator) connect(ctx context.Context, t Target) (err error) {
	if g.reader, err = register(ctx, t.Reader, ReaderSeat); err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	for i := range g.shape.Senders {
		ws, err := register(ctx, t.Senders, senderName(i))
		if err != nil {
			return fmt.Errorf("sender %d: %w", i, err)
		}
		s := &sender{ws: ws, free: make(chan int, g.shape.Window), slots: make([]slot, g.shape.Window)}
		for place := range g.shape.Window {
			s.free <- place
		}
		g.senders = append(g.senders, s)
	}
	return nil
}

func senderName(i int) string { return "bench/s" + strconv.Itoa(i) }

// register connects and waits until the hub tells that the name is online.
func register(ctx context.Context, addr, name string) (*webSocket, error) {
	ws, _, err := registerIn(ctx, addr, name, generatorBuffer, nil)
	return ws, err
}

// registerIn is register with a size for the socket's buffers and a buffer for what the hub says meanwhile. The frame
// that tells is returned, in that buffer.
func registerIn(ctx context.Context, addr, name string, size int, buf []byte) (*webSocket, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ws, err := dialWebSocket(ctx, addr, size)
	if err != nil {
		return nil, buf, err
	}
	stop := context.AfterFunc(ctx, func() { ws.close() })
	defer stop()
	if err := errors.Join(ws.write(hello(name)), ws.flush()); err != nil {
		return nil, buf, errors.Join(err, ws.close())
	}
	for {
		if buf, err = ws.read(buf); err != nil {
			return nil, buf, errors.Join(err, ws.close())
		}
		if !isPresence(buf) {
			continue
		}
		var f struct {
			Agent any `json:"agent"`
		}
		if err := wire.UnmarshalLax(buf, &f); err != nil {
			return nil, buf, errors.Join(err, ws.close())
		}
		if f.Agent == name {
			return ws, buf, nil
		}
	}
}

// hello is a heartbeat: the first one registers.
func hello(name string) []byte {
	return []byte(`{"sender":"` + name + `","target":"System","type":"heartbeat","payload":"online","wake_capability":"direct"}`)
}

// send keeps the window full until it is told to stop.
func (g *generator) send(ctx context.Context, number int, s *sender) error {
	extra := ""
	if g.asks {
		extra = askReceipt
	}
	head := chatHead(number, g.to, extra)
	var frame []byte
	for n := uint64(0); !g.stop.Load(); n++ {
		place, err := s.place(ctx)
		if err != nil {
			return nil // the end of the run is told elsewhere
		}
		frame = fill(append(frame[:0], head...), place, n, g.shape.Bytes)
		s.slots[place].sentNS.Store(time.Now().UnixNano())
		if err := s.ws.write(frame); err != nil {
			return g.ended(err)
		}
	}
	return g.ended(s.ws.flush())
}

// chatHead begins every chat of a sender, up to the middle of its id.
func chatHead(number int, to, extra string) []byte {
	return []byte(`{"sender":"` + senderName(number) + `","target":"` + to + `","type":"chat"` + extra + `,"client_msg_id":"` + strconv.Itoa(number) + `.`)
}

// place is a free place of the window. What is written leaves before waiting for one.
func (s *sender) place(ctx context.Context) (int, error) {
	select {
	case place := <-s.free:
		return place, nil
	default:
	}
	if err := s.ws.flush(); err != nil {
		return 0, err
	}
	select {
	case place := <-s.free:
		return place, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// fill completes a frame: the rest of the id, a timestamp, and a payload up to the size.
func fill(frame []byte, place int, n uint64, size int) []byte {
	frame = strconv.AppendInt(frame, int64(place), 10)
	frame = append(frame, '.')
	frame = strconv.AppendUint(frame, n, 10)
	frame = append(frame, `","payload":"`...)
	for len(frame) < size-2 {
		frame = append(frame, 'x')
	}
	return append(frame, `"}`...)
}

// copies takes the hub's answers of one sender.
func (g *generator) copies(number int, s *sender) error {
	var buf []byte
	var err error
	for {
		if buf, err = s.ws.read(buf); err != nil {
			return g.ended(err)
		}
		from, place, ok := idOf(buf)
		switch {
		case ok && from == number && place < len(s.slots):
			g.answered(s, place, buf)
		case bytes.Contains(buf, []byte(`"type":"error"`)):
			return fmt.Errorf("the hub refused a message: %s", buf)
		}
	}
}

// answered takes a frame with an id of ours: the sender's own copy, or a receipt. One that settles nothing is passed over.
func (g *generator) answered(s *sender, place int, frame []byte) {
	switch {
	case !isReceipt(frame):
		g.part(s, place, partCopy)
	case bytes.Contains(frame, []byte(`"delivered":true`)), bytes.Contains(frame, []byte(`"expired":true`)):
		if g.toldAll.Add(1); g.begun.Load() {
			g.told.Add(1)
			g.reach()
		}
		select {
		case g.more <- struct{}{}:
		default:
		}
	}
}

// isReceipt looks at the beginning only, where hubs write the type: a payload may say anything.
func isReceipt(frame []byte) bool {
	return bytes.Contains(frame[:min(len(frame), 200)], []byte(`"type":"delivery_receipt"`))
}

// ackHead begins every acknowledgement of the reader.
const ackHead = `{"sender":"` + ReaderSeat + `","target":"System","type":"ack","payload":"","seq":`

// read is the reader: it acknowledges each message.
func (g *generator) read() error {
	var buf, out []byte
	var err error
	for {
		if buf, err = g.reader.read(buf); err != nil {
			return g.ended(err)
		}
		from, place, ok := idOf(buf)
		if !ok {
			continue
		}
		seq, ok := numberAfter(buf, []byte(`"seq":`))
		if !ok || from >= len(g.senders) || place >= len(g.senders[from].slots) {
			return fmt.Errorf("the reader got a message nobody sent: %s", buf)
		}
		out = append(strconv.AppendUint(append(out[:0], ackHead...), seq, 10), '}')
		if err := g.reader.write(out); err != nil {
			return g.ended(err)
		}
		if g.reader.idle() {
			if err := g.reader.flush(); err != nil {
				return g.ended(err)
			}
		}
		g.part(g.senders[from], place, partRead)
	}
}

// part notes one of the parts of a message; with the last its place is free.
func (g *generator) part(s *sender, place int, part uint32) {
	sl := &s.slots[place]
	if sl.parts.Or(part)|part != partCopy|partRead {
		return
	}
	sl.parts.Store(0)
	g.all.Add(1)
	if g.begun.Load() {
		g.stats.add(time.Duration(time.Now().UnixNano() - sl.sentNS.Load()))
		g.done.Add(1)
		g.reach()
	}
	s.free <- place
}

// count is how many messages count so far: with receipts those that were told as well.
func (g *generator) count() int64 {
	if g.asks {
		return min(g.done.Load(), g.told.Load())
	}
	return g.done.Load()
}

// reach ends the measurement once as many messages count as it has; receipts may be told long after their messages.
func (g *generator) reach() {
	if g.limit > 0 && g.count() >= g.limit {
		g.once.Do(func() { close(g.reached) })
	}
}

// measure lets the load run for its length.
func (g *generator) measure(ctx context.Context, l Length, begin, end func()) (Measured, error) {
	defer g.stop.Store(true)
	if err := after(ctx, l.Warmup, nil); err != nil {
		return Measured{}, err
	}
	call(begin)
	start := time.Now()
	g.begun.Store(true)
	span := l.For
	if g.limit > 0 {
		span = 0
	}
	err := after(ctx, span, g.reached)
	g.begun.Store(false)
	took := time.Since(start).Seconds()
	call(end)
	n := g.count()
	return Measured{
		Messages: int(n), Seconds: took, PerS: float64(n) / took,
		P50MS: ms(g.stats.quantile(0.5)), P99MS: ms(g.stats.quantile(0.99)),
	}, err
}

func call(fn func()) {
	if fn != nil {
		fn()
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// after waits for a span of the load, or, with a span of 0, for reached alone.
func after(ctx context.Context, span time.Duration, reached <-chan struct{}) error {
	var over <-chan time.Time
	if span > 0 || reached == nil {
		timer := time.NewTimer(span)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return nil
	case <-reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain takes every place back and waits for every receipt: afterwards nothing is in flight.
func (g *generator) drain(ctx context.Context) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for i, s := range g.senders {
		for n := range s.slots {
			select {
			case <-s.free:
			case <-ctx.Done():
				return ctx.Err()
			case <-timer.C:
				return fmt.Errorf("sender %d: %d messages never came back", i, len(s.slots)-n)
			}
		}
	}
	for g.asks && g.toldAll.Load() < g.all.Load() {
		select {
		case <-g.more:
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return fmt.Errorf("%d of %d receipts never came", g.all.Load()-g.toldAll.Load(), g.all.Load())
		}
	}
	return nil
}

// leave ends every conversation as the protocol wants it, so that the hub has read all that was sent before it sees the
// end. Each reader ends with the hub's answer, or after a while without one.
func (g *generator) leave() {
	for _, s := range g.senders {
		s.ws.leave()
	}
	g.reader.leave()
}

// ended hides the errors that closing the sockets at the end makes.
func (g *generator) ended(err error) error {
	if g.stop.Load() {
		return nil
	}
	return err
}

func (g *generator) close() {
	if g.reader != nil {
		g.reader.close()
	}
	for _, s := range g.senders {
		s.ws.close()
	}
}
