package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq/kubernetes/queue"
)

// A call is a call of a program, of an item and with a priority where it has
// them.
type call struct {
	what     what
	item     int
	priority int
}

type what string

const (
	add      what = "Add"
	addSoon  what = "AddSoon"
	addLate  what = "AddLate"
	get      what = "Get"
	done     what = "Done"
	step     what = "Step"
	shutDown what = "ShutDown"
)

// calls are all calls over two items and two priorities.
func calls() (all []call) {
	for _, w := range []what{add, addSoon, addLate} {
		for item := range 2 {
			for priority := range 2 {
				all = append(all, call{w, item, priority})
			}
		}
	}
	return append(all, call{what: get}, call{what: done}, call{what: done, item: 1}, call{what: step}, call{what: shutDown})
}

// A peer is one of the queues that are compared.
type peer interface {
	workqueue.TypedRateLimitingInterface[string]
	addWith(after time.Duration, priority int, item string)
	GetWithPriority() (item string, priority int, shutdown bool)
}

type theirs struct {
	priorityqueue.PriorityQueue[string]
}

func (q theirs) addWith(after time.Duration, priority int, item string) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &priority}, item)
}

type ours struct{ *queue.Queue[string] }

func (q ours) addWith(after time.Duration, priority int, item string) {
	q.AddWith(queue.AddOptions{After: after, Priority: priority}, item)
}

func (q ours) Len() int { return q.Depth() }

func newOurs() peer {
	q, err := queue.New(queue.Options[string]{Priority: true})
	if err != nil {
		panic(err)
	}
	return ours{q}
}

func newTheirs() peer { return theirs{priorityqueue.New[string]("")} }

// A playing plays a program on a queue, and writes down what can be seen.
type playing struct {
	peer
	seen  strings.Builder
	calls int
	ended bool
	// results has what Gets have returned. Gets that block wait in goroutines.
	results  chan string
	inFlight map[string]bool
	parked   int
}

var names = [2]string{"a", "b"}

// play makes a call, and lets it have its effect.
func (r *playing) play(c call) {
	r.calls++
	// No two deadlines are equal: in what order such items become ready is not
	// defined.
	unique := time.Duration(r.calls) * 10 * time.Millisecond
	switch c.what {
	case add:
		r.addWith(0, c.priority, names[c.item])
	case addSoon:
		r.addWith(time.Second+unique, c.priority, names[c.item])
	case addLate:
		r.addWith(3*time.Second+unique, c.priority, names[c.item])
	case get:
		r.parked++
		go r.get()
	case done:
		delete(r.inFlight, names[c.item])
		r.Done(names[c.item])
	case step:
		time.Sleep(1500 * time.Millisecond)
	case shutDown:
		r.ended = true
		r.ShutDown()
	}
	fmt.Fprintf(&r.seen, "%v\n", c)
	r.settle()
}

// settle waits until nothing moves, and writes down what has happened.
func (r *playing) settle() {
	synctest.Wait()
	var got []string
	for range len(r.results) {
		got = append(got, <-r.results)
		r.parked--
	}
	slices.Sort(got) // of several Gets, which was first is not defined
	for _, result := range got {
		if item, _, _ := strings.Cut(result, " "); item != "" {
			r.inFlight[item] = true
		}
		fmt.Fprintf(&r.seen, "  Get returns %q\n", result)
	}
	if !r.ended { // after a shutdown, the other queue counts what no Get returns
		fmt.Fprintf(&r.seen, "  %d in line\n", r.Len())
	}
}

func (r *playing) get() {
	item, priority, shutdown := r.GetWithPriority()
	if shutdown {
		r.results <- " shutdown"
	} else {
		r.results <- fmt.Sprintf("%s with priority %d", item, priority)
	}
}

// finish processes what is left, and shuts the queue down.
func (r *playing) finish() {
	for range 6 {
		for _, item := range names {
			if r.inFlight[item] {
				delete(r.inFlight, item)
				r.Done(item)
				r.settle()
			}
		}
		if r.ended {
			break
		}
		time.Sleep(2 * time.Second)
		r.settle()
		if r.Len() > 0 && r.parked == 0 {
			r.play(call{what: get})
		}
	}
	if !r.ended {
		r.play(call{what: shutDown})
	}
}

// played returns what can be seen of a program.
func played(t *testing.T, program []call, newQueue func() peer) (seen string) {
	synctest.Test(t, func(*testing.T) {
		r := &playing{peer: newQueue(), results: make(chan string, len(program)+8), inFlight: map[string]bool{}}
		for _, c := range program {
			r.play(c)
		}
		r.finish()
		seen = r.seen.String()
	})
	return seen
}

// extend calls do with the programs that begin with this one and have n calls more.
// It leaves out those whose first item is the second, those that go on after a
// shutdown with anything but an add and a Get, and those with a Done of what no Get
// can have returned.
func extend(program []call, n int, do func([]call)) {
	if n == 0 {
		do(program)
		return
	}
	for _, c := range calls() {
		if sensible(program, c) {
			extend(append(program, c), n-1, do)
		}
	}
}

func sensible(program []call, next call) bool {
	added, gets, dones, ended, first := [2]bool{}, 0, 0, false, -1
	for _, c := range program {
		switch c.what {
		case get:
			gets++
		case done:
			dones++
		case shutDown:
			ended = true
		case add, addSoon, addLate:
			added[c.item] = true
			if first < 0 {
				first = c.item
			}
		}
	}
	switch next.what {
	case done:
		return added[next.item] && gets > dones
	case shutDown:
		return !ended
	case step:
		return !ended && len(program) > 0
	case get:
		return true
	}
	return first >= 0 || next.item == 0
}

// TestProgramsOfFiveCalls plays every program of up to five calls, over two
// items and two priorities, on both queues. All that can be seen is the same:
// what each Get returns and with which priority, when, and how many items are
// in line after each call.
func TestProgramsOfFiveCalls(t *testing.T) {
	longest := 5
	if testing.Short() {
		longest = 3
	}
	count := 0
	for n := 1; n <= longest; n++ {
		extend(nil, n, func(program []call) {
			count++
			want, got := played(t, program, newTheirs), played(t, program, newOurs)
			if got != want {
				t.Errorf("%v:\n%s\nwant\n%s", program, got, want)
			}
			if t.Failed() && count > 100 {
				t.FailNow()
			}
		})
	}
	t.Logf("%d programs", count)
}
