package journal

type opKind uint8

const (
	opPut opKind = iota
	opDelete
	opDeleteRange
)

type op struct {
	kind       opKind
	key, value []byte // value is the upper bound of a range
}

// Batch is what becomes true together: events in order, then table changes in order. It owns what it is given
// until Apply has returned, and copies nothing; the caller changes none of it meanwhile. Not for concurrent use.
//
// A batch without events is allowed for table changes that can be derived again (housekeeping): the head slot
// bears witness to events only.
type Batch struct {
	events   []Event
	ops      []op
	bytes    int
	deferred bool
	barrier  bool
}

// NewBatch is an empty batch.
func NewBatch() *Batch { return &Batch{} }

// Append adds an event. Its Seq must continue the store's sequence without a gap, or Apply refuses the batch.
func (b *Batch) Append(ev Event) {
	b.events = append(b.events, ev)
	b.bytes += headerFixed + headerBody + headerAttrsLen + len(ev.Attrs) + len(ev.Body) + 2*9
}

// Put sets a table row.
func (b *Batch) Put(key, value []byte) { b.add(op{opPut, key, value}) }

// Delete removes a table row; it need not exist.
func (b *Batch) Delete(key []byte) { b.add(op{opDelete, key, nil}) }

// DeleteRange removes the rows lo <= key < hi.
func (b *Batch) DeleteRange(lo, hi []byte) { b.add(op{opDeleteRange, lo, hi}) }

func (b *Batch) add(o op) {
	b.ops = append(b.ops, o)
	b.bytes += len(o.key) + len(o.value)
}

// Defer says that the batch needs no sync of its own: it becomes durable with the next batch that is synced, and its
// Wait returns at once. It is for facts that nobody is told and that are found again when they are lost.
func (b *Batch) Defer() { b.deferred = true }

// Barrier makes an empty batch worth applying: its Wait makes everything before it durable.
func (b *Batch) Barrier() { b.barrier = true }

// Len is the number of events, Bytes about how much will be written.
func (b *Batch) Len() int { return len(b.events) }

// Bytes is about how many bytes the batch will write.
func (b *Batch) Bytes() int { return b.bytes }

// Empty says that applying the batch would do nothing.
func (b *Batch) Empty() bool { return len(b.events) == 0 && len(b.ops) == 0 && !b.barrier }

// Events is what was appended, in order; the slice is the batch's own.
func (b *Batch) Events() []Event { return b.events }

// Reset empties the batch for reuse, after Apply has returned.
func (b *Batch) Reset() {
	clear(b.events)
	clear(b.ops)
	b.events, b.ops, b.bytes = b.events[:0], b.ops[:0], 0
	b.deferred, b.barrier = false, false
}
