package candidates

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// A layout says where in memory the two parts of an entry are.
type layout interface {
	item(id uint32) *itemPart
	timer(id uint32) *timerPart
	// sizes returns the bytes of a ready item, and of a delayed one.
	sizes() (ready, delayed uintptr)
}

// itemPart is the part of every item.
type itemPart struct {
	item  string
	next  uint32 // of the FIFO
	phase uint8
}

// timerPart is the part of delayed items.
type timerPart struct {
	deadline       uint64
	next, previous uint32 // of the ring of a slot of the wheel
}

// columns has an array of each part. The second is as long as the number of
// delayed items. Package shard does this.
type columns struct {
	items  []itemPart
	timers []timerPart
}

func (c *columns) item(id uint32) *itemPart   { return &c.items[id] }
func (c *columns) timer(id uint32) *timerPart { return &c.timers[id] }
func (c *columns) sizes() (ready, delayed uintptr) {
	return unsafe.Sizeof(itemPart{}), unsafe.Sizeof(itemPart{}) + unsafe.Sizeof(timerPart{})
}

// packed has the parts side by side.
type packed []both

type both struct {
	itemPart
	timerPart
}

func (p packed) item(id uint32) *itemPart   { return &p[id].itemPart }
func (p packed) timer(id uint32) *timerPart { return &p[id].timerPart }
func (p packed) sizes() (ready, delayed uintptr) {
	return unsafe.Sizeof(both{}), unsafe.Sizeof(both{})
}

// lines has the parts side by side, each pair on its own cache line.
type lines []line

type line struct {
	both
	_ [24]byte
}

func (l lines) item(id uint32) *itemPart   { return &l[id].itemPart }
func (l lines) timer(id uint32) *timerPart { return &l[id].timerPart }
func (l lines) sizes() (ready, delayed uintptr) {
	return unsafe.Sizeof(line{}), unsafe.Sizeof(line{})
}

// BenchmarkLayout compares timers beside the items with timers in their own
// column. path=ready passes items through the FIFO. path=delayed passes them
// through a ring of timers and then the FIFO.
func BenchmarkLayout(b *testing.B) {
	const items = 1_000_000
	for _, kind := range []struct {
		name string
		new  func() layout
	}{
		{"columns", func() layout { return &columns{make([]itemPart, items+1), make([]timerPart, items+1)} }},
		{"packed", func() layout { return make(packed, items+1) }},
		{"lines", func() layout { return make(lines, items+1) }},
	} {
		measure := func(path string, rotate func(b *testing.B, l layout, ids []int)) {
			b.Run("path="+path+"/layout="+kind.name, func(b *testing.B) {
				l := kind.new()
				rotate(b, l, rand.New(rand.NewPCG(1, 2)).Perm(items))
				ready, delayed := l.sizes()
				b.ReportMetric(float64(ready), "B/ready-item")
				b.ReportMetric(float64(delayed), "B/delayed-item")
			})
		}
		measure("ready", rotateFIFO)
		measure("delayed", rotateTimers)
	}
}

// rotateFIFO moves one item after the other from the head of a full FIFO to its
// tail.
func rotateFIFO(b *testing.B, l layout, ids []int) {
	var fifo linked
	for _, id := range ids {
		fifo.push(l, uint32(id+1))
	}
	b.ResetTimer()
	for range b.N {
		id, _ := fifo.pop(l)
		fifo.push(l, id)
	}
}

// rotateTimers expires one timer after the other, passes its item through an
// empty FIFO, and schedules the timer again.
func rotateTimers(b *testing.B, l layout, ids []int) {
	var wheel [1 << 14]uint32
	for i, id := range ids {
		link(l, &wheel[i%len(wheel)], uint32(id+1))
	}
	var fifo linked
	b.ResetTimer()
	for i := range b.N {
		slot := &wheel[i%len(wheel)]
		id := l.timer(*slot).next
		unlink(l, slot, id)
		fifo.push(l, id)
		id, _ = fifo.pop(l)
		l.timer(id).deadline = uint64(i)
		link(l, &wheel[(i*7919+1)%len(wheel)], id)
	}
}

type linked struct{ head, tail uint32 }

func (f *linked) push(l layout, id uint32) {
	item := l.item(id)
	item.next, item.phase = 0, 1
	if f.head == 0 {
		f.head = id
	} else {
		l.item(f.tail).next = id
	}
	f.tail = id
}

func (f *linked) pop(l layout) (id uint32, item string) {
	id = f.head
	head := l.item(id)
	f.head, head.phase = head.next, 0
	return id, head.item
}

// link and unlink change a ring that is named by its tail.
func link(l layout, tail *uint32, id uint32) {
	timer := l.timer(id)
	if *tail == 0 {
		timer.next, timer.previous = id, id
	} else {
		last := l.timer(*tail)
		timer.next, timer.previous = last.next, *tail
		l.timer(last.next).previous = id
		last.next = id
	}
	*tail = id
}

func unlink(l layout, tail *uint32, id uint32) {
	timer := l.timer(id)
	if timer.next == id {
		*tail = 0
		return
	}
	l.timer(timer.previous).next = timer.next
	l.timer(timer.next).previous = timer.previous
	if *tail == id {
		*tail = timer.previous
	}
}
