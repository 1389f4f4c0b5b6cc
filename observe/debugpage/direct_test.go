package debugpage

import (
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A visitedQueue counts the items that a search visits.
type visitedQueue[T comparable] struct {
	*shardq.Queue[T]
	visited *int
}

func (q visitedQueue[T]) Inspect() stats.Inspection {
	return visitedInspection{q.Queue.Inspect(), q.visited}
}

type visitedInspection struct {
	stats.Inspection
	visited *int
}

func (i visitedInspection) All(state stats.State) iter.Seq[stats.Item[any]] {
	return func(yield func(stats.Item[any]) bool) {
		for info := range i.Inspection.All(state) {
			if *i.visited++; !yield(info) {
				return
			}
		}
	}
}

// newVisited returns a queue of the items. The last of them is delayed, so
// that a search visits it last.
func newVisited[T comparable](items ...T) visitedQueue[T] {
	q := shardq.MustNew(shardq.Options[T]{Name: "q", Shards: 1})
	last := len(items) - 1
	for _, item := range items[:last] {
		q.Add(item)
	}
	q.AddAfter(items[last], time.Hour)
	return visitedQueue[T]{q, new(int)}
}

// find returns the result of a search for a key, and the number of items that
// it visited.
func (q visitedQueue[T]) find(t *testing.T, h http.Handler, key string) (keys []string, visited int) {
	t.Helper()
	*q.visited = 0
	found := getReport(t, h, "&key="+key).Queues[0].Found
	require.True(t, found.Complete)
	return keysOf(found.Items), *q.visited
}

type (
	orderID  string
	tenantID uint16
	// A folded key is shown in lower case, so that several are shown as one.
	folded  string
	address struct{ Tenant, Number string }
)

func (f folded) String() string { return strings.ToLower(string(f)) }

// requireDirect checks that a search for a key finds it alone, and visits no
// other item than the one that has the type.
func requireDirect[T comparable](t *testing.T, key string, items ...T) {
	t.Helper()
	q := newVisited(items...)
	keys, visited := q.find(t, Handler(q), key)
	require.Equal(t, []string{key}, keys)
	require.Equal(t, 1, visited)
}

// TestSearchLooksUpSimpleKeys checks that strings and whole numbers of any type
// are found without a search.
func TestSearchLooksUpSimpleKeys(t *testing.T) {
	requireDirect(t, "acme/1", "acme/10", "acme/2", "acme/1")
	requireDirect[orderID](t, "acme/1", "acme/10", "acme/2", "acme/1")
	requireDirect[int64](t, "-12", 1, -123, -12)
	requireDirect[uint16](t, "65535", 6, 7, 65535)
	requireDirect[tenantID](t, "7", 70, 71, 7)
	requireDirect(t, "18446744073709551615", uint64(1), 1<<64-1)
}

// TestSearchVisitsOtherKeys checks that a search visits the items if it cannot
// look the key up, or if the key is not there.
func TestSearchVisitsOtherKeys(t *testing.T) {
	structs := newVisited(address{"acme", "2"}, address{"acme", "1"})
	keys, visited := structs.find(t, Handler(structs), "{acme+1}")
	require.Equal(t, []string{"{acme 1}"}, keys)
	require.Equal(t, 1+2, visited)

	numbers := newVisited[uint16](123, 45, 7)
	for key, want := range map[string][]string{
		"12": {"123"}, "07": nil, "%2B7": nil, "7.0": nil, "-7": nil, "65543": nil, "seven": nil,
	} {
		keys, visited := numbers.find(t, Handler(numbers), key)
		require.Equal(t, want, keys, key)
		require.Equal(t, 1+3, visited, key)
	}

	// Both are shown as the text.
	same := newVisited[folded]("ACME", "Acme/1", "Globex", "acme")
	keys, _ = same.find(t, Handler(same), "acme")
	require.Equal(t, []string{"acme", "acme"}, keys)
	mixed := newVisited[any](7, "8", "7")
	keys, _ = mixed.find(t, Handler(mixed), "7")
	require.Equal(t, []string{"7", "7"}, keys)
	empty := visitedQueue[int]{shardq.MustNew(shardq.Options[int]{}), new(int)}
	keys, _ = empty.find(t, Handler(empty), "7")
	require.Empty(t, keys)
}

// TestExactKeysComeAlone checks that an exact match leaves out the keys that
// begin with the text, whether it was looked up or visited, and wherever it is.
func TestExactKeysComeAlone(t *testing.T) {
	structs := newVisited[[1]int]([1]int{12}, [1]int{1}, [1]int{13})
	keys, _ := structs.find(t, Handler(structs), "[1]")
	require.Equal(t, []string{"[1]"}, keys)
	keys, _ = structs.find(t, Handler(structs), "[1")
	require.Equal(t, []string{"[12]", "[1]", "[13]"}, keys)

	last := newVisited[folded]("acme/1", "acme/2", "acme")
	h := must(t, Options{Queues: []shardq.Inspector{last}, AllowActions: Local})
	keys, _ = last.find(t, h, "acme")
	require.Equal(t, []string{"acme"}, keys)
	require.Empty(t, buttons(t, h, "?key=acme/"), "several items")
	mixed := newVisited[any]("70", 7, "71")
	keys, _ = mixed.find(t, Handler(mixed), "7")
	require.Equal(t, []string{"7"}, keys)
}

// TestSearchOfOddKeys checks that the whole key finds a key that is shown cut
// or quoted, and so does the text that is shown.
func TestSearchOfOddKeys(t *testing.T) {
	long := strings.Repeat("x", 300)
	q := newVisited[orderID](orderID(long), "a b ", "other")
	for key, want := range map[string]string{
		long: long[:maxKeyBytes], long[:maxKeyBytes]: long[:maxKeyBytes], "a+b+": `"a b "`, `"a+b+"`: `"a b "`,
	} {
		keys, _ := q.find(t, Handler(q), key)
		require.Equal(t, []string{want}, keys, key)
	}
}

// TestSearchKeepsKeysHidden checks that RedactKey decides who finds a key, also
// if the key could be looked up.
func TestSearchKeepsKeysHidden(t *testing.T) {
	q := newVisited[int64](1001, 2001, 3, 1)
	h := must(t, Options{Queues: []shardq.Inspector{q}, RedactKey: func(_ string, item any) string {
		return fmt.Sprint("…", item.(int64)%1000)[len("…"):] // hides the thousands
	}})
	for key, want := range map[string][]string{"1001": nil, "2001": nil, "3": {"3"}, "1": {"1", "1", "1"}} {
		keys, _ := q.find(t, h, key)
		require.Equal(t, want, keys, key)
	}
	panics := must(t, Options{Queues: []shardq.Inspector{q}, RedactKey: func(string, any) string { panic("no") }})
	keys, _ := q.find(t, panics, "1001")
	require.Empty(t, keys)
}

// TestSearchBeyondTheLimit finds a key that a search of the whole queue does
// not reach, and then its page.
func TestSearchBeyondTheLimit(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int64]{Name: "q"})
	for n := range int64(maxVisited) {
		q.Add(n)
	}
	q.AddAfter(-1, time.Hour)
	h := Handler(q)
	found := getReport(t, h, "&key=-1").Queues[0].Found
	require.True(t, found.Complete)
	require.Equal(t, []string{"-1"}, keysOf(found.Items))
	require.Contains(t, get(t, h, "?item="+found.Items[0].ID), "<bdi>-1</bdi>")

	hidden := must(t, Options{Queues: []shardq.Inspector{q}, RedactKey: func(_ string, item any) string { return fmt.Sprint(item) }})
	found = getReport(t, hidden, "&key=-1").Queues[0].Found
	require.Equal(t, []string{"-1"}, keysOf(found.Items))
	require.False(t, found.Complete, "RedactKey may return that text for others")
}
