package debugpage

import (
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// idsOf returns the ids of the queues that a test lists for each request.
func idsOf(n *names, queues ...shardq.Inspector) (ids []string) {
	for _, one := range n.nameAll(queues).all {
		ids = append(ids, one.id)
	}
	return ids
}

// TestNamesStay checks that a queue keeps its name while others go, come, or
// change places. The name of a queue that is gone is free.
func TestNamesStay(t *testing.T) {
	l := &names{}
	a, b, c, d := newQueue("q"), newQueue("q"), newQueue("q"), newQueue("q")
	require.Equal(t, []string{"q", "q #2", "q #3"}, idsOf(l, a, b, c))
	require.Equal(t, []string{"q #2", "q #3"}, idsOf(l, b, c))
	require.Equal(t, []string{"q #3", "q #2"}, idsOf(l, c, b))
	require.Equal(t, []string{"q", "q #2", "q #3"}, idsOf(l, d, b, c), "a new one has what is free")
	require.Equal(t, []string{"q #3", "q #2", "q"}, idsOf(l, c, a, d), "one that comes back is a new one")
	odd := newQueue("q #2")
	require.Equal(t, []string{"q #2 #2", "q #3", "q #2", "q"}, idsOf(l, odd, c, a, d), "a name in use is not assigned again")
}

// A renamed queue returns another name each time.
type renamed struct {
	shardq.Inspector
	name *string
}

func (r renamed) Name() string { return *r.name }

// TestNamesOfAllKinds checks that queues that are not comparable, listed twice,
// nil, or renamed have names, too.
func TestNamesOfAllKinds(t *testing.T) {
	l := &names{}
	q := newQueue("q")
	odd := oddQueue{q, nil}
	require.Equal(t, []string{"q", "q #2", "q #3", "unnamed"}, idsOf(l, odd, q, q, nil))
	require.Equal(t, []string{"q #2", "q", "q #3", "unnamed"}, idsOf(l, q, odd, q, nil))
	require.Equal(t, []string{"q #2", "q #3"}, idsOf(l, q, q))
	name := "first"
	require.Equal(t, []string{"first"}, idsOf(l, renamed{nil, &name}))
	name = "a\nb"
	require.Equal(t, []string{`"a\nb"`}, idsOf(l, renamed{nil, &name}))
}

// An oddQueue is not comparable.
type oddQueue struct {
	shardq.Inspector
	_ []int
}

// TestNamesKeepNoQueue checks that the page does not keep a queue that is gone
// alive, even without another request.
func TestNamesKeepNoQueue(t *testing.T) {
	var n names
	q := newQueue("q")
	gone := weak.Make(q)
	n.nameAll([]shardq.Inspector{q})
	runtime.KeepAlive(q)
	q = nil
	for range 10 { // a stack may still refer to it
		runtime.GC()
	}
	require.Nil(t, gone.Value())
	runtime.KeepAlive(&n)
}

func TestNamesAmongRequests(t *testing.T) {
	var n names
	queues := []shardq.Inspector{newQueue("q"), newQueue("q"), newQueue("q")}
	var requests sync.WaitGroup
	for i := range 8 {
		requests.Go(func() {
			for range 200 {
				d := n.nameAll(queues[i%3:])
				if len(d.byID) != len(d.all) {
					t.Error("two have one name")
				}
			}
		})
	}
	requests.Wait()
}

// TestInstances checks that the instance stays with its queue, whatever its id,
// and is not assigned again.
func TestInstances(t *testing.T) {
	first, second := newQueue("q"), newQueue("q")
	odd := oddQueue{newQueue("odd"), nil}
	var queues []shardq.Inspector
	h := must(t, Options{List: func() []shardq.Inspector { return queues }})
	instances := func(listed ...shardq.Inspector) (found []string) {
		queues = listed
		for _, q := range getReport(t, h, "").Queues {
			found = append(found, q.Instance)
		}
		return found
	}
	both := instances(first, second)
	require.NotEqual(t, both[0], both[1])
	require.Equal(t, []string{both[1], both[0]}, instances(second, first))
	require.Equal(t, both[:1], instances(first))
	again := instances(first, second)
	require.Equal(t, both[0], again[0])
	require.NotEqual(t, both[1], again[1], "it was gone, so it may be another")
	other := instances(newQueue("q"))
	require.NotContains(t, append(both, again...), other[0])
	require.Equal(t, instances(odd), instances(odd), "which is not comparable")
	require.NotEqual(t, other[0], getQueue(t, Handler(first), "").Instance, "of another handler")
}
