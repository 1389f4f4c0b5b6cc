package limiter

import "math"

// A history is the record of an item that has failed. A history without
// failures is vacant, and zero throughout, so that nothing refers to a
// forgotten item.
type history[T comparable] struct {
	item     T
	ends     instant // when it expires, if histories expire
	hash     uint32  // the low half of the item's hash
	failures uint32  // at most maxFailures
}

// maxFailures is where the count of failures stops. Every int can hold it.
const maxFailures = math.MaxInt32

func (h *history[T]) vacant() bool { return h.failures == 0 }

func (h *history[T]) is(hash uint32, item T) bool {
	return h.hash == hash && !h.vacant() && h.item == item
}

// minSlots is the shortest length of a table. Every length is a power of two.
const minSlots = 4

// A table is a hash table of histories with open addressing: linear probing,
// and a removal that moves later entries up instead of leaving a mark (Knuth,
// The Art of Computer Programming, volume 3, section 6.4, algorithm R). It is
// at most three quarters full, and shrinks below an eighth. A nil table is
// empty. A table is not safe for concurrent use.
type table[T comparable] struct {
	slots []history[T]
	live  int // entries
	hand  int // where the next sweep begins; if beyond the slots, at the first
}

func newTable[T comparable]() *table[T] { return &table[T]{slots: make([]history[T], minSlots)} }

func (t *table[T]) empty() bool { return t == nil || t.live == 0 }

// find returns the item's history, or nil. The pointer is valid until the table
// changes.
func (t *table[T]) find(hash uint32, item T) *history[T] {
	if t.empty() {
		return nil
	}
	if h := &t.slots[t.search(hash, item)]; !h.vacant() {
		return h
	}
	return nil
}

// add returns a vacant history for an item that has none.
func (t *table[T]) add(hash uint32, item T) *history[T] {
	if (t.live+1)*4 > len(t.slots)*3 {
		t.resize(len(t.slots) * 2)
	}
	t.live++
	return &t.slots[t.search(hash, item)]
}

// remove removes the item's history, and reports whether there was one.
func (t *table[T]) remove(hash uint32, item T) bool {
	if t.empty() {
		return false
	}
	i := t.search(hash, item)
	if t.slots[i].vacant() {
		return false
	}
	t.removeAt(i)
	t.shrink()
	return true
}

// sweep removes expired histories from the next slots.
func (t *table[T]) sweep(length int, idle *idleness, now instant) {
	if t.empty() {
		return
	}
	for range min(length, len(t.slots)) {
		i := t.hand & (len(t.slots) - 1)
		if h := &t.slots[i]; !h.vacant() && idle.over(now, h.ends) {
			t.removeAt(i) // the entry that moves up to i is examined next
		} else {
			t.hand = i + 1
		}
	}
	t.shrink()
}

// search returns the slot that holds the item, or else the vacant slot that
// ends the search for it.
func (t *table[T]) search(hash uint32, item T) int {
	mask := len(t.slots) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		if h := &t.slots[i]; h.vacant() || h.is(hash, item) {
			return i
		}
	}
}

// removeAt vacates slot i. It moves up the entries that a search would no
// longer find behind the gap.
func (t *table[T]) removeAt(i int) {
	mask := len(t.slots) - 1
	for j := (i + 1) & mask; !t.slots[j].vacant(); j = (j + 1) & mask {
		distance := (j - int(t.slots[j].hash)) & mask // from where its search begins
		if distance >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = history[T]{}
	t.live--
}

// shrink halves the table if it is less than an eighth full.
func (t *table[T]) shrink() {
	if len(t.slots) > minSlots && t.live < len(t.slots)/8 {
		t.resize(len(t.slots) / 2)
	}
}

func (t *table[T]) resize(length int) {
	old := t.slots
	t.slots = make([]history[T], length)
	for _, h := range old {
		if !h.vacant() {
			t.slots[t.search(h.hash, h.item)] = h
		}
	}
}
