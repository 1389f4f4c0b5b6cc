package debugpage

import (
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// A listed handler names the queues that a test lists for each request.
type listed struct {
	names names
}

func (l *listed) ids(queues ...shardq.Inspector) (ids []string) {
	for _, n := range l.names.nameAll(queues).all {
		ids = append(ids, n.id)
	}
	return ids
}

func queueNamed(name string) *shardq.Queue[int] {
	return shardq.MustNew(shardq.Options[int]{Name: name, Shards: 1})
}

// TestNamesStay checks that a queue keeps its name while others go, come, or
// change places. The name of a queue that is gone is free.
func TestNamesStay(t *testing.T) {
	l := listed{}
	a, b, c, d := queueNamed("q"), queueNamed("q"), queueNamed("q"), queueNamed("q")
	require.Equal(t, []string{"q", "q #2", "q #3"}, l.ids(a, b, c))
	require.Equal(t, []string{"q #2", "q #3"}, l.ids(b, c))
	require.Equal(t, []string{"q #3", "q #2"}, l.ids(c, b))
	require.Equal(t, []string{"q", "q #2", "q #3"}, l.ids(d, b, c), "a new one has what is free")
	require.Equal(t, []string{"q #3", "q #2", "q"}, l.ids(c, a, d), "one that comes back is a new one")
}

// TestNamesOfAllKinds checks that queues that are not comparable, listed twice,
// or nil have names, too.
func TestNamesOfAllKinds(t *testing.T) {
	l := listed{}
	q := queueNamed("q")
	odd := oddQueue{q, nil}
	require.Equal(t, []string{"q", "q #2", "q #3", "unnamed"}, l.ids(odd, q, q, nil))
	require.Equal(t, []string{"q #2", "q", "q #3", "unnamed"}, l.ids(q, odd, q, nil))
}

// An oddQueue is not comparable.
type oddQueue struct {
	shardq.Inspector
	_ []int
}

// TestNamesThatLookNumbered checks that a name in use is not assigned
// again, in any order.
func TestNamesThatLookNumbered(t *testing.T) {
	l := listed{}
	a, b, odd := queueNamed("q"), queueNamed("q"), queueNamed("q #2")
	require.Equal(t, []string{"q", "q #2"}, l.ids(a, b))
	require.Equal(t, []string{"q #2 #2", "q", "q #2"}, l.ids(odd, a, b))
	require.Equal(t, []string{"q #2 #2"}, l.ids(odd))
}

// A renamed queue returns another name each time.
type renamed struct {
	shardq.Inspector
	name *string
}

func (r renamed) Name() string { return *r.name }

func TestNamesThatChange(t *testing.T) {
	l, name := listed{}, "first"
	q := renamed{nil, &name}
	require.Equal(t, []string{"first"}, l.ids(q))
	name = "second"
	require.Equal(t, []string{"second"}, l.ids(q))
}

// TestNamesKeepNoQueue checks that the page does not keep a queue that is gone
// alive, even without another request.
func TestNamesKeepNoQueue(t *testing.T) {
	var n names
	q := queueNamed("q")
	gone := weak.Make(q)
	n.nameAll([]shardq.Inspector{q})
	runtime.KeepAlive(q)
	q = nil
	for range 10 {
		runtime.GC()
		if gone.Value() == nil {
			runtime.KeepAlive(&n)
			return
		}
	}
	require.Nil(t, gone.Value())
}

// TestNamesAmongRequests names different lists concurrently.
func TestNamesAmongRequests(t *testing.T) {
	var n names
	queues := []shardq.Inspector{queueNamed("q"), queueNamed("q"), queueNamed("q")}
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

// TestLinksStay checks that the page of a queue stays with it when another
// queue of the same name goes.
func TestLinksStay(t *testing.T) {
	first, second := queueNamed("q"), queueNamed("q")
	second.Add(1)
	queues := []shardq.Inspector{first, second}
	h := must(t, Options{List: func() []shardq.Inspector { return queues }})
	require.Equal(t, 1, getReport(t, h, "&queue=q+%232").Queues[0].Gauges.Ready)
	queues = queues[1:]
	require.Equal(t, 1, getReport(t, h, "&queue=q+%232").Queues[0].Gauges.Ready)
	require.Equal(t, 400, ask(h, request("GET", "?queue=q")).Code)
}

// TestInstances checks that the instance stays with its queue, whatever its id,
// and is not assigned again.
func TestInstances(t *testing.T) {
	first, second := queueNamed("q"), queueNamed("q")
	odd := oddQueue{queueNamed("odd"), nil}
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
	other := instances(queueNamed("q"))
	require.NotContains(t, append(both, again...), other[0])
	require.Equal(t, instances(odd), instances(odd), "which is not comparable")
	require.NotEqual(t, other[0], getReport(t, Handler(first), "").Queues[0].Instance, "of another handler")
}
