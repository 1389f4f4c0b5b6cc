package cluster_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/worker"
)

// sum is a Merge.
func sum(pending, next int) (int, error) { return pending + next, nil }

// joinValues joins a queue with values.
func joinValues(t *testing.T) *cluster.Node[string] {
	t.Helper()
	o := options(clustertest.Start(t, 1))
	o.Values = true
	return join(t, o)
}

// TestValuesAreMerged checks that a handler gets one value of all that are
// pending, and that a sink can leave out those that it has.
func TestValuesAreMerged(t *testing.T) {
	node := joinValues(t)
	sums, err := cluster.NewValues(node, cluster.ValuesOptions[int]{Merge: sum})
	require.NoError(t, err)
	for i := range 10 {
		require.NoError(t, sums.Put(t.Context(), "a", i))
	}
	for range 3 {
		require.NoError(t, sums.PutOnce(t.Context(), "a", 100, "id"))
	}
	ran := make(chan int, 10)
	stop := work(t, node, sums.Handle(func(_ context.Context, c cluster.Claim[string], value int) error {
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
	stop()
}

// TestValuesThatCannotBeMerged checks that they fail the attempt, and that each
// becomes a dead letter as it is.
func TestValuesThatCannotBeMerged(t *testing.T) {
	for name, merge := range map[string]func(pending, next int) (int, error){
		"decode": sum,
		"merge":  func(int, int) (int, error) { return 0, errors.New("merge fails") },
		"panic":  func(int, int) (int, error) { panic("merge panics") },
	} {
		t.Run(name, func(t *testing.T) {
			node := joinValues(t)
			sums, err := cluster.NewValues(node, cluster.ValuesOptions[int]{Merge: merge})
			require.NoError(t, err)
			second := "2"
			if name == "decode" {
				second = "no number"
			}
			require.NoError(t, sums.Put(t.Context(), "a", 1))
			require.NoError(t, node.Put(t.Context(), "a", []byte(second)))
			discarded := make(chan worker.Failure[string], 1)
			stop := start(t, node, cluster.RunOptions[string]{
				Workers: 1, MaxAttempts: 2,
				Handle: sums.Handle(func(context.Context, cluster.Claim[string], int) error {
					return errors.New("the handler was called")
				}),
				OnDiscard: func(_ context.Context, f worker.Failure[string]) { discarded <- f },
			})
			f := receive(t, discarded)
			require.ErrorContains(t, f.Err, name)
			require.Equal(t, 2, f.Attempt)
			waitUntilEmpty(t, node)
			stop()
			require.Equal(t, []string{"1", second}, deadValues(t, node))
		})
	}
}

// deadValues returns the values of the dead letters.
func deadValues(t *testing.T, node *cluster.Node[string]) (values []string) {
	t.Helper()
	for letter, err := range node.Dead(t.Context()) {
		require.NoError(t, err)
		values = append(values, string(letter.Value))
	}
	return values
}

func TestValuesWithFaults(t *testing.T) {
	_, err := cluster.NewValues[string](nil, cluster.ValuesOptions[int]{
		Encode: func(int) ([]byte, error) { return nil, nil },
	})
	for _, part := range []string{"wants a node", "Merge is nil", "one of Encode and Decode"} {
		require.ErrorContains(t, err, part)
	}
	plain := join(t, options(clustertest.Start(t, 1)))
	_, err = cluster.NewValues(plain, cluster.ValuesOptions[int]{Merge: sum})
	require.ErrorIs(t, err, cluster.ErrValues)
	require.ErrorIs(t, plain.PutAfter(t.Context(), "a", nil, time.Second), cluster.ErrValues)

	node := joinValues(t)
	bad, err := cluster.NewValues(node, cluster.ValuesOptions[chan int]{
		Merge: func(_, next chan int) (chan int, error) { return next, nil },
	})
	require.NoError(t, err)
	require.ErrorContains(t, bad.Put(t.Context(), "a", nil), "encode a value")
	require.ErrorContains(t, bad.PutOnce(t.Context(), "a", nil, "id"), "encode a value")
	require.ErrorContains(t, bad.PutAfter(t.Context(), "a", nil, time.Second), "encode a value")
}

// TestDelayedValuesComeLater checks that each delayed value comes, in the order
// of their arrival, also if the queue is full for a while.
func TestDelayedValuesComeLater(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.Values, o.Partitions, o.MaxPending = true, 1, 2
	node := join(t, o)
	texts, err := cluster.NewValues(node, cluster.ValuesOptions[string]{
		Merge: func(pending, next string) (string, error) { return pending + next, nil },
	})
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, texts.PutAfter(t.Context(), "a", "z", 1500*time.Millisecond))
	require.NoError(t, texts.PutAfter(t.Context(), "a", "y", 500*time.Millisecond))
	require.NoError(t, texts.PutAfter(t.Context(), "a", "x", 0))
	require.NoError(t, texts.Put(t.Context(), "other", "-"))
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, s.Delayed)
	require.EqualValues(t, 2, s.Pending)
	type run struct {
		text string
		at   time.Time
	}
	ran := make(chan run, 10)
	stop := work(t, node, texts.Handle(func(_ context.Context, c cluster.Claim[string], text string) error {
		if c.Key == "a" {
			ran <- run{text, time.Now()}
		}
		return nil
	}))
	got := ""
	for len(got) < 3 {
		r := receive(t, ran)
		got += r.text
		if len(got) == 3 {
			require.GreaterOrEqual(t, r.at.Sub(began), 1500*time.Millisecond)
		}
	}
	require.Equal(t, "xyz", got)
	waitUntilEmpty(t, node)
	stop()
	require.Empty(t, ran)
	s, err = node.Status(t.Context())
	require.NoError(t, err)
	require.Zero(t, s.Delayed)
}

// TestBoundsOfDelayedAndDead checks that what is beyond a bound is refused, and
// that a key whose letter has no room stays.
func TestBoundsOfDelayedAndDead(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.Values, o.Partitions, o.MaxDelayed, o.MaxDead = true, 1, 2, 3
	node := join(t, o)
	for range 2 {
		require.NoError(t, node.PutAfter(t.Context(), "later", nil, time.Hour))
	}
	require.ErrorIs(t, node.PutAfter(t.Context(), "later", nil, time.Hour), cluster.ErrFull)

	for i := range 5 { // of which three have room
		require.NoError(t, node.Put(t.Context(), "a", []byte(strconv.Itoa(i))))
	}
	failed, discarded := make(chan struct{}, 1000), make(chan worker.Failure[string], 10)
	stop := start(t, node, cluster.RunOptions[string]{
		Workers: 1, MaxAttempts: 1, Handle: func(_ context.Context, c cluster.Claim[string]) error {
			if len(c.Values()) < 5 { // they arrive one by one
				return worker.RequeueAfter(time.Millisecond)
			}
			failed <- struct{}{}
			return errors.New("no")
		},
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { discarded <- f },
	})
	receive(t, failed)
	receive(t, failed)
	require.Empty(t, discarded)
	require.Equal(t, []string{"0", "1", "2"}, deadValues(t, node))
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, s.Pending)
	stop()

	// With room for all, the letters are complete, and none is there twice.
	js := connect(t, servers)
	dead, err := js.Stream(t.Context(), "shardq-test-dead")
	require.NoError(t, err)
	config := dead.CachedInfo().Config
	config.MaxMsgs = -1
	_, err = js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	other := join(t, o)
	stop = start(t, other, cluster.RunOptions[string]{
		Workers: 1, MaxAttempts: 1, Handle: func(context.Context, cluster.Claim[string]) error { return errors.New("no") },
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { discarded <- f },
	})
	receive(t, discarded)
	waitUntilEmpty(t, other)
	stop()
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, deadValues(t, other))
}
