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
	events []Event
	ops    []op
	bytes  int
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

// Len is the number of events, Bytes about how much will be written.
func (b *Batch) Len() int { return len(b.events) }

// Bytes is about how many bytes the batch will write.
func (b *Batch) Bytes() int { return b.bytes }

// Empty says that applying the batch would change nothing.
func (b *Batch) Empty() bool { return len(b.events) == 0 && len(b.ops) == 0 }

// Events is what was appended, in order; the slice is the batch's own.
func (b *Batch) Events() []Event { return b.events }

// Reset empties the batch for reuse, after Apply has returned.
func (b *Batch) Reset() {
	clear(b.events)
	clear(b.ops)
	b.events, b.ops, b.bytes = b.events[:0], b.ops[:0], 0
}
