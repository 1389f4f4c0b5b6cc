package workload

import (
	"slices"
	"sync"
)

// Disorder says how far the order in which a queue handed items out is from the
// order in which they became ready. With strict FIFO order all values are zero.
type Disorder struct {
	// RankErrors holds, for each Get, the number of items that had been ready
	// longer and that it passed over, in increasing order.
	RankErrors []int
	// Skips holds, for each item, the number of younger items that were handed
	// out before it, in increasing order.
	Skips []int
}

// MeasureDisorder computes the disorder of a sequence: the order in which items
// were handed out, a permutation of 0, 1, 2 … in which they were added. An item
// must have been added before all smaller ones that follow it in the sequence
// are handed out, as in every queue.
func MeasureDisorder(out []int) Disorder {
	d := Disorder{RankErrors: make([]int, len(out)), Skips: make([]int, len(out))}
	gone := newRankTree(len(out))
	for i, item := range out {
		smallerGone := gone.below(item)
		d.RankErrors[i] = item - smallerGone
		d.Skips[item] = i - smallerGone
		gone.insert(item)
	}
	slices.Sort(d.RankErrors)
	slices.Sort(d.Skips)
	return d
}

// OrderOf passes items through the queue, with backlog of them ready at any
// time, and returns the order in which they were handed out. The consumers take
// turns, with one Add and one Get each, so that the order is exact.
func OrderOf(q Queue[uint64], items, backlog, consumers int) []int {
	for i := range backlog {
		q.Add(uint64(i))
	}
	pass := passage{queue: q, next: backlog, items: items}
	var running sync.WaitGroup
	for range consumers {
		running.Go(func() {
			for item, more := pass.turn(); more; item, more = pass.turn() {
				q.Done(item)
			}
		})
	}
	running.Wait()
	q.ShutDown()
	return pass.out
}

type passage struct {
	mu    sync.Mutex
	queue Queue[uint64]
	next  int // the next item to add
	items int // the number of all items
	out   []int
}

// turn adds an item, if there are any left, and takes one.
func (p *passage) turn() (item uint64, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.out) == p.items {
		return 0, false
	}
	if p.next < p.items {
		p.queue.Add(uint64(p.next))
		p.next++
	}
	item, _ = p.queue.Get()
	p.out = append(p.out, int(item))
	return item, true
}

// rankTree counts inserted numbers below a bound: a Fenwick tree.
type rankTree []int

func newRankTree(n int) rankTree { return make(rankTree, n+1) }

func (t rankTree) insert(number int) {
	for i := number + 1; i < len(t); i += i & -i {
		t[i]++
	}
}

func (t rankTree) below(number int) (count int) {
	for i := number; i > 0; i -= i & -i {
		count += t[i]
	}
	return count
}
