package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/worker"
)

// sum is a Merge.
func sum(pending, next int) (int, error) { return pending + next, nil }

func withValues(o *cluster.Options[string]) { o.Values = true }

func valuesOf[V any](t *testing.T, node *cluster.Node[string], merge func(pending, next V) (V, error)) *cluster.Values[string, V] {
	values, err := cluster.NewValues(node, cluster.ValuesOptions[V]{Merge: merge})
	require.NoError(t, err)
	return values
}

// deadValues returns the values of the dead letters.
func deadValues(t *testing.T, node *cluster.Node[string]) (values []string) {
	for _, letter := range letters(t, node) {
		values = append(values, string(letter.Value))
	}
	return values
}

// TestValuesComeTogetherAndInOrder checks that a run has the values in order,
// with the headers of their adds, and has them again after a failure.
func TestValuesComeTogetherAndInOrder(t *testing.T) {
	node, _ := alone(t, func(o *cluster.Options[string]) { withValues(o); withInject(o) })
	require.ErrorIs(t, node.Add(t.Context(), "a"), cluster.ErrValues)
	require.ErrorIs(t, node.AddAfter(t.Context(), "a", time.Second), cluster.ErrValues)
	require.ErrorIs(t, node.AddAll(t.Context(), "a"), cluster.ErrValues)
	sums := valuesOf(t, node, sum)
	for i := range 100 {
		require.NoError(t, sums.Put(request(t, strconv.Itoa(i)), "a", i))
	}
	type run struct {
		texts, requests []string
		sum             int
	}
	ran, first := make(chan run, 100), true
	work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		r := run{requests: attemptOf(c).requests}
		for _, v := range c.Values() {
			r.texts = append(r.texts, string(v.Data))
		}
		var err error
		r.sum, _, err = sums.After(c, 0)
		require.NoError(t, err)
		ran <- r
		if first {
			first = false
			return errors.New("once")
		}
		return nil
	})
	var got []string
	total := 0
	receive(t, ran) // it failed, so its values are handed out once more
	for len(got) < 100 {
		r := receive(t, ran)
		require.Equal(t, r.texts, r.requests)
		got, total = append(got, r.texts...), total+r.sum
	}
	for i, text := range got {
		require.Equal(t, strconv.Itoa(i), text)
	}
	require.Equal(t, 4950, total)
	waitUntilEmpty(t, node)
}

// TestValuesAreMerged checks that a handler gets one value of all that are
// pending, and that a sink can leave out those that it has.
func TestValuesAreMerged(t *testing.T) {
	node, _ := alone(t, withValues)
	sums := valuesOf(t, node, sum)
	for i := range 10 {
		require.NoError(t, sums.Put(t.Context(), "a", i))
	}
	for range 3 {
		require.NoError(t, sums.PutOnce(t.Context(), "a", 100, "id"))
	}
	ran := make(chan int, 10)
	work(t, node, sums.Handle(func(_ context.Context, c cluster.Claim[string], value int) error {
		values := c.Values()
		if len(values) < 11 { // they arrive one by one
			return errors.New("not all")
		}
		ran <- value
		last, ok, err := sums.After(c, values[len(values)-2].Sequence)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, 100, last)
		_, ok, err = sums.After(c, c.Sequence())
		require.NoError(t, err)
		require.False(t, ok, "the sink has all")
		return nil
	}))
	require.Equal(t, 145, receive(t, ran))
	waitUntilEmpty(t, node)
}

// TestValuesThatCannotBeMerged checks that they fail the attempt, and that each
// becomes a dead letter as it is.
func TestValuesThatCannotBeMerged(t *testing.T) {
	for _, each := range []struct {
		finding, second string
		merge           func(pending, next int) (int, error)
	}{
		{"decode", "no number", sum},
		{"merge fails", "2", func(int, int) (int, error) { return 0, errors.New("merge fails") }},
		{"merge panics", "2", func(int, int) (int, error) { panic("merge panics") }},
	} {
		t.Run(each.finding, func(t *testing.T) {
			node, _ := alone(t, withValues)
			sums := valuesOf(t, node, each.merge)
			require.NoError(t, sums.Put(t.Context(), "a", 1))
			require.NoError(t, node.Put(t.Context(), "a", []byte(each.second)))
			discarded, stop := discard(t, node, 2, sums.Handle(func(context.Context, cluster.Claim[string], int) error {
				return errors.New("the handler was called")
			}))
			f := receive(t, discarded)
			require.ErrorContains(t, f.Err, each.finding)
			require.Equal(t, 2, f.Attempt)
			waitUntilEmpty(t, node)
			stop()
			require.Equal(t, []string{"1", each.second}, deadValues(t, node))
		})
	}
}

func TestValuesWithFaults(t *testing.T) {
	_, err := cluster.NewValues[string](nil, cluster.ValuesOptions[int]{Encode: func(int) ([]byte, error) { return nil, nil }})
	for _, part := range []string{"wants a node", "Merge is nil", "one of Encode and Decode"} {
		require.ErrorContains(t, err, part)
	}
	plain, servers := alone(t, asItIs)
	_, err = cluster.NewValues(plain, cluster.ValuesOptions[int]{Merge: sum})
	require.ErrorIs(t, err, cluster.ErrValues)
	require.ErrorIs(t, plain.Put(t.Context(), "a", nil), cluster.ErrValues)
	require.ErrorIs(t, plain.PutAfter(t.Context(), "a", nil, time.Second), cluster.ErrValues)

	o := options(servers)
	o.Name, o.Values = "values", true
	bad := valuesOf(t, join(t, o), func(_, next chan int) (chan int, error) { return next, nil })
	require.ErrorContains(t, bad.Put(t.Context(), "a", nil), "encode a value")
	require.ErrorContains(t, bad.PutOnce(t.Context(), "a", nil, "id"), "encode a value")
	require.ErrorContains(t, bad.PutAfter(t.Context(), "a", nil, time.Second), "encode a value")
}

// TestDelayedValuesComeLater checks that each delayed value comes, in the order
// of their arrival, also if the queue is full for a while.
func TestDelayedValuesComeLater(t *testing.T) {
	node, _ := alone(t, func(o *cluster.Options[string]) { o.Values, o.Partitions, o.MaxPending = true, 1, 2 })
	texts := valuesOf(t, node, func(pending, next string) (string, error) { return pending + next, nil })
	began := time.Now()
	require.NoError(t, texts.PutAfter(t.Context(), "a", "z", 1500*time.Millisecond))
	require.NoError(t, texts.PutAfter(t.Context(), "a", "y", 500*time.Millisecond))
	require.NoError(t, texts.PutAfter(t.Context(), "a", "x", 0))
	require.NoError(t, texts.Put(t.Context(), "other", "-"))
	require.EqualValues(t, 2, status(t, node).Delayed)
	require.EqualValues(t, 2, status(t, node).Pending)
	ran := make(chan string, 10)
	stop := work(t, node, texts.Handle(func(_ context.Context, c cluster.Claim[string], text string) error {
		if c.Key == "a" {
			ran <- text
		}
		return nil
	}))
	got := ""
	for len(got) < 3 {
		got += receive(t, ran)
	}
	require.GreaterOrEqual(t, time.Since(began), 1500*time.Millisecond)
	require.Equal(t, "xyz", got)
	waitUntilEmpty(t, node)
	stop()
	require.Empty(t, ran)
	require.Zero(t, status(t, node).Delayed)
}

// TestBoundsOfDelayedAndDead checks that what is beyond a bound is refused, and
// that a key whose letter has no room stays, and does not fill the log.
func TestBoundsOfDelayedAndDead(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	var log bytes.Buffer
	o.Values, o.Partitions, o.MaxDelayed, o.MaxDead = true, 1, 2, 3
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	node := join(t, o)
	for range 2 {
		require.NoError(t, node.PutAfter(t.Context(), "later", nil, time.Hour))
	}
	require.ErrorIs(t, node.PutAfter(t.Context(), "later", nil, time.Hour), cluster.ErrFull)

	for i := range 5 { // of which three have room
		require.NoError(t, node.Put(t.Context(), "a", []byte(strconv.Itoa(i))))
	}
	failed := make(chan struct{}, 1000)
	discarded, stop := discard(t, node, 1, func(_ context.Context, c cluster.Claim[string]) error {
		if len(c.Values()) < 5 { // they arrive one by one
			return worker.RequeueAfter(time.Millisecond)
		}
		failed <- struct{}{}
		return errors.New("no")
	})
	receive(t, failed)
	receive(t, failed)
	require.Empty(t, discarded)
	require.Equal(t, []string{"0", "1", "2"}, deadValues(t, node))
	require.EqualValues(t, 5, status(t, node).Pending)
	stop()
	require.NoError(t, node.Close())
	require.Equal(t, 1, strings.Count(log.String(), "are not discarded"), "one line for all attempts")

	// With room for all, the letters are complete, and none is there twice.
	o.MaxDead, o.Update = -1, true
	other := join(t, o)
	discarded, stop = discard(t, other, 1, fails)
	receive(t, discarded)
	waitUntilEmpty(t, other)
	stop()
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, deadValues(t, other))
}

// TestDiscardedValuesStay checks that each value of a key that is discarded
// more than once has a letter, also one as large as a message may be.
func TestDiscardedValuesStay(t *testing.T) {
	node, _ := alone(t, withValues)
	discarded, stop := discard(t, node, 0, func(context.Context, cluster.Claim[string]) error {
		return worker.Permanent(errors.New(strings.Repeat("\x01long", 1000)))
	})
	// No value is accepted that would be too large for a letter.
	size := 1<<20 - 512
	for errors.Is(node.Put(t.Context(), "a", make([]byte, size)), nats.ErrMaxPayload) {
		size -= 16
	}
	receive(t, discarded)
	require.Greater(t, size, 1<<20-2048)
	require.ErrorIs(t, node.PutAfter(t.Context(), "a", make([]byte, 1<<20-512), time.Hour), nats.ErrMaxPayload)
	for _, letter := range letters(t, node) {
		require.Len(t, letter.Value, size)
		require.NoError(t, node.Forget(t.Context(), letter))
	}
	large := bytes.Repeat([]byte{1}, 1<<20-4096)
	for _, value := range [][]byte{[]byte("v1"), large} {
		require.NoError(t, node.Put(t.Context(), "a", value))
		receive(t, discarded)
	}
	waitUntilEmpty(t, node)
	stop()
	var values [][]byte
	for _, letter := range letters(t, node) {
		require.Greater(t, len(letter.Reason), 250)
		values = append(values, letter.Value)
		require.NoError(t, node.Revive(t.Context(), letter))
	}
	require.Equal(t, [][]byte{[]byte("v1"), large}, values)
	require.EqualValues(t, 2, status(t, node).Pending)
	require.Zero(t, status(t, node).Dead)
}
