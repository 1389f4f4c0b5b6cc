package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// patience limits what a test waits for. It matters only if something fails.
const patience = 60 * time.Second

// options returns those of a queue on servers, with short leases.
func options(servers *clustertest.Servers) cluster.Options[string] {
	return cluster.Options[string]{
		Name: "test", Servers: servers.URLs(), Partitions: 8, Lease: 2 * time.Second,
		Queue: shardq.Options[string]{RateLimiter: limiter.NewExponential[string](time.Millisecond, time.Millisecond)},
	}
}

func join(t *testing.T, o cluster.Options[string]) *cluster.Node[string] {
	t.Helper()
	node, err := cluster.Join(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	return node
}

type handler = func(context.Context, cluster.Claim[string]) error

// start runs a node in the background. The function that it returns ends the
// run, and waits for it.
func start(t *testing.T, node *cluster.Node[string], o cluster.RunOptions[string]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- node.RunWith(ctx, o) }()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		require.NoError(t, receive(t, ended))
	}
	t.Cleanup(stop)
	return stop
}

func work(t *testing.T, node *cluster.Node[string], handle handler) (stop func()) {
	t.Helper()
	return start(t, node, cluster.RunOptions[string]{Workers: 4, Handle: handle})
}

// workKeys has a node send the keys that it runs.
func workKeys(t *testing.T, node *cluster.Node[string]) (ran <-chan string, stop func()) {
	t.Helper()
	keys := make(chan string, 10)
	return keys, work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		keys <- c.Key
		return nil
	})
}

// connect returns a client of the servers.
func connect(t *testing.T, servers *clustertest.Servers) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(servers.URLs())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	return js
}

// receive receives from a channel, and fails if that takes too long.
func receive[V any](t *testing.T, c <-chan V) (v V) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
	}
	return v
}

// receiveKey receives keys until one comes. Others may run again meanwhile.
func receiveKey(t *testing.T, ran <-chan string, want string) {
	t.Helper()
	for receive(t, ran) != want {
	}
}

// waitUntilEmpty waits until nothing is pending.
func waitUntilEmpty(t *testing.T, node *cluster.Node[string]) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := node.Status(t.Context())
		return err == nil && s.Pending == 0
	}, patience, 20*time.Millisecond)
}

func TestAKeyThatIsPendingIsStoredOnce(t *testing.T) {
	servers := clustertest.Start(t, 1)
	one, other := join(t, options(servers)), join(t, options(servers))
	for range 10 {
		require.NoError(t, one.Add(t.Context(), "a"))
		require.NoError(t, other.AddAll(t.Context(), "a", "b"))
	}
	s, err := one.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, s.Pending)

	ran := make(chan string, 100)
	stop := work(t, one, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		return nil
	})
	got := []string{receive(t, ran), receive(t, ran)}
	slices.Sort(got)
	require.Equal(t, []string{"a", "b"}, got)
	waitUntilEmpty(t, one)
	stop()
	require.Empty(t, ran, "each key ran once")
	require.EqualValues(t, 2, one.Stats().Done)
	require.EqualValues(t, 10, one.Stats().Added)
	require.EqualValues(t, 20, other.Stats().Added)
}

func TestAKeyAddedInFlightRunsOnceMore(t *testing.T) {
	servers := clustertest.Start(t, 1)
	node := join(t, options(servers))
	began, goOn := make(chan uint64), make(chan struct{})
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		began <- c.Sequence()
		<-goOn
		return nil
	})
	require.NoError(t, node.Add(t.Context(), "a"))
	first := receive(t, began)
	for range 20 {
		require.NoError(t, node.Add(t.Context(), "a"))
	}
	require.NoError(t, node.Add(t.Context(), "b"))
	second := receive(t, began) // "b", beside "a"
	require.Equal(t, 2, node.Stats().InFlight)
	goOn <- struct{}{}
	goOn <- struct{}{}
	third := receive(t, began) // "a" again
	require.Greater(t, third, first)
	require.Less(t, third, second)
	goOn <- struct{}{}
	waitUntilEmpty(t, node)
	stop()
	require.EqualValues(t, 3, node.Stats().Done)
}

func TestValuesComeTogetherAndInOrder(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.Values = true
	node := join(t, o)
	require.ErrorIs(t, node.Add(t.Context(), "a"), cluster.ErrValues)
	require.ErrorIs(t, node.AddAfter(t.Context(), "a", time.Second), cluster.ErrValues)
	require.ErrorIs(t, node.AddAll(t.Context(), "a"), cluster.ErrValues)
	sums, err := cluster.NewValues(node, cluster.ValuesOptions[int]{Merge: sum})
	require.NoError(t, err)
	for i := range 100 {
		require.NoError(t, sums.Put(t.Context(), "a", i))
	}
	type run struct {
		texts []string
		sum   int
	}
	ran := make(chan run, 1)
	var succeeds atomic.Bool
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		r := run{}
		for _, v := range c.Values() {
			r.texts = append(r.texts, string(v.Data))
		}
		var err error
		r.sum, _, err = sums.After(c, 0)
		require.NoError(t, err)
		ran <- r
		if !succeeds.Swap(true) {
			return errors.New("once")
		}
		return nil
	})
	var got []string
	total := 0
	receive(t, ran) // it failed, so its values are handed out once more
	for len(got) < 100 {
		r := receive(t, ran)
		got, total = append(got, r.texts...), total+r.sum
	}
	for i, text := range got {
		require.Equal(t, strconv.Itoa(i), text)
	}
	require.Equal(t, 4950, total)
	waitUntilEmpty(t, node)
	stop()
}

func TestOfSeveralDelaysTheEarliestCounts(t *testing.T) {
	servers := clustertest.Start(t, 1)
	node := join(t, options(servers))
	ran := make(chan time.Time, 10)
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- time.Now()
		return nil
	})
	began := time.Now()
	require.NoError(t, node.AddAfter(t.Context(), "a", time.Hour))
	require.NoError(t, node.AddAfter(t.Context(), "a", 500*time.Millisecond))
	require.NoError(t, node.AddAfter(t.Context(), "a", 2*time.Hour))
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Delayed)
	require.GreaterOrEqual(t, receive(t, ran).Sub(began), 500*time.Millisecond)
	waitUntilEmpty(t, node)
	stop()
	require.Empty(t, ran)
}

// TestAttemptsCountOnAllNodes checks that a key which fails on one node has the
// attempts that it has left on another, and that it is then a dead letter,
// which can be added again.
func TestAttemptsCountOnAllNodes(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	one := join(t, o)
	attempts := make(chan int, 10)
	failing := func(_ context.Context, c cluster.Claim[string]) error {
		attempts <- c.Attempt()
		return fmt.Errorf("no %s", c.Key)
	}
	o.Queue.RateLimiter = limiter.NewExponential[string](time.Hour, time.Hour)
	slow := join(t, o)
	stop := work(t, slow, failing)
	require.NoError(t, one.Add(t.Context(), "a"))
	require.Equal(t, 1, receive(t, attempts))
	waitUntilEmpty(t, slow) // the delay of an hour is with the servers
	stop()

	discarded := make(chan worker.Failure[string], 1)
	stop = start(t, one, cluster.RunOptions[string]{
		Workers: 1, MaxAttempts: 3, Handle: failing,
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { discarded <- f },
	})
	require.NoError(t, one.Add(t.Context(), "a"))
	require.Equal(t, 2, receive(t, attempts))
	require.Equal(t, 3, receive(t, attempts))
	f := receive(t, discarded)
	require.Equal(t, 3, f.Attempt)
	require.Equal(t, "test", f.Queue)
	waitUntilEmpty(t, one)
	letters := 0
	for letter, err := range one.Dead(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "a", letter.Key)
		require.Equal(t, "no a", letter.Reason)
		require.Equal(t, 3, letter.Attempts)
		require.NoError(t, one.Revive(t.Context(), letter))
		letters++
	}
	require.Equal(t, 1, letters)
	require.Equal(t, 1, receive(t, attempts), "it starts over")
	stop()
}

func TestAFullQueueRefusesKeys(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.MaxPending, o.Partitions = 2, 1
	node := join(t, o)
	require.NoError(t, node.AddAll(t.Context(), "a", "b"))
	require.ErrorIs(t, node.Add(t.Context(), "c"), cluster.ErrFull)
	require.ErrorIs(t, node.AddAll(t.Context(), "c"), cluster.ErrFull)
	require.NoError(t, node.Add(t.Context(), "a"), "a pending key needs no room")
	require.NoError(t, node.AddAfter(t.Context(), "c", time.Millisecond), "and neither does a delay")

	ran := make(chan string, 10)
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		return nil
	})
	got := []string{receive(t, ran), receive(t, ran), receive(t, ran)}
	slices.Sort(got)
	require.Equal(t, []string{"a", "b", "c"}, got)
	stop()
}

// TestANodeThatLeavesHandsOver checks that handlers finish, and that the other
// node has the partitions afterwards, with greater epochs.
func TestANodeThatLeavesHandsOver(t *testing.T) {
	servers := clustertest.Start(t, 1)
	one, other := join(t, options(servers)), join(t, options(servers))
	type turn struct {
		node  string
		fence cluster.Fence
	}
	began, goOn, ended := make(chan turn, 100), make(chan struct{}), make(chan error, 100)
	handle := func(name string) handler {
		return func(ctx context.Context, c cluster.Claim[string]) error {
			began <- turn{name, c.Fence()}
			<-goOn
			ended <- ctx.Err()
			return nil
		}
	}
	stopOne := work(t, one, handle("one"))
	require.NoError(t, one.Add(t.Context(), "a"))
	first := receive(t, began)
	stopOther := work(t, other, handle("other"))
	stopped := make(chan struct{})
	go func() { stopOne(); close(stopped) }()
	close(goOn)
	require.NoError(t, receive(t, ended), "the handler could finish")
	receive(t, stopped)
	require.Zero(t, one.Stats().Partitions)
	require.NoError(t, other.Add(t.Context(), "a"))
	second := receive(t, began)
	require.Equal(t, "other", second.node)
	require.Equal(t, first.fence.Partition, second.fence.Partition)
	require.Greater(t, second.fence.Epoch, first.fence.Epoch)
	waitUntilEmpty(t, other)
	stopOther()
}

// TestANodeHearsAgain checks that a node hears of others whose consumer the
// servers have lost, or which gets nothing any more.
func TestANodeHearsAgain(t *testing.T) {
	for name, fault := range map[string]func(js jetstream.JetStream, stream, consumer string) error{
		"deleted": func(js jetstream.JetStream, stream, consumer string) error {
			return js.DeleteConsumer(t.Context(), stream, consumer)
		},
		"silent": func(js jetstream.JetStream, stream, consumer string) error {
			_, err := js.PauseConsumer(t.Context(), stream, consumer, time.Now().Add(time.Hour))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			servers := clustertest.Start(t, 1)
			o := options(servers)
			o.Partitions = 24 // of which some are the other's, whatever its id is
			one, other := join(t, o), join(t, o)
			stopOne := work(t, one, func(context.Context, cluster.Claim[string]) error { return nil })
			owns := func(node *cluster.Node[string], least, most int) {
				require.Eventually(t, func() bool {
					n := node.Stats().Partitions
					return least <= n && n <= most
				}, patience, 20*time.Millisecond)
			}
			owns(one, 24, 24)
			js := connect(t, servers)
			state, err := js.Stream(t.Context(), "shardq-test-state")
			require.NoError(t, err)
			for consumer := range state.ConsumerNames(t.Context()).Name() {
				require.NoError(t, fault(js, "shardq-test-state", consumer))
			}
			stopOther := work(t, other, func(context.Context, cluster.Claim[string]) error { return nil })
			owns(one, 0, 23)
			owns(other, 1, 24)
			stopOne()
			stopOther()
		})
	}
}

func TestAQueueOfOneProcessSurvivesItsEnd(t *testing.T) {
	o := cluster.Options[string]{Name: "durable", Dir: t.TempDir(), Lease: 2 * time.Second, Partitions: 4}
	node, err := cluster.Join(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, node.AddAll(t.Context(), "a", "b"))
	require.NoError(t, node.AddAfter(t.Context(), "c", time.Millisecond))
	_, err = cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, "another process uses it")
	require.NoError(t, node.Close())
	require.ErrorIs(t, node.Close(), cluster.ErrClosed)
	require.ErrorIs(t, node.Add(t.Context(), "a"), cluster.ErrClosed)

	node, err = cluster.Join(t.Context(), o)
	require.NoError(t, err)
	ran := make(chan string, 10)
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		return nil
	})
	got := []string{receive(t, ran), receive(t, ran), receive(t, ran)}
	slices.Sort(got)
	require.Equal(t, []string{"a", "b", "c"}, got)
	stop()
	require.NoError(t, node.Close())
}

func TestOptionsWithFaults(t *testing.T) {
	_, err := cluster.Join(t.Context(), cluster.Options[string]{
		Name: "a.b", Partitions: 2000, Replicas: 2, Lease: 2500 * time.Millisecond, MaxPending: -1, MaxHeld: -1,
		MaxAckPending: -1, LeaveTimeout: -1, Servers: "nats://127.0.0.1:1", Dir: "x", MaxDelayed: -1, MaxDead: -1, Domain: "a.b",
	})
	for _, part := range []string{
		"Name", "Partitions", "Replicas", "Lease", "MaxPending", "MaxHeld", "MaxAckPending", "LeaveTimeout", "Dir",
		"MaxDelayed", "MaxDead", "Domain",
	} {
		require.ErrorContains(t, err, "Options."+part)
	}
	_, err = cluster.Join(t.Context(), cluster.Options[int]{Name: "a", Placement: &jetstream.Placement{}, Domain: "d"})
	require.ErrorContains(t, err, "Options.Codec is nil: want one for keys of type int")
	require.ErrorContains(t, err, "Options.Placement is set: want none without Servers")
	require.ErrorContains(t, err, `Options.Domain is "d": want none without Servers`)
	_, err = cluster.Join(t.Context(), cluster.Options[string]{Name: "a", Servers: "nats://127.0.0.1:1"})
	require.ErrorContains(t, err, "connect to nats://127.0.0.1:1")
}

func TestNodesMustAgree(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	join(t, o)
	o.Partitions, o.Lease, o.Values = 9, 3*time.Second, true
	_, err := cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, `Options.Partitions is 9: the queue was made with "8"`)
	require.ErrorContains(t, err, `Options.Lease is 3s: the queue was made with "2s"`)
	require.ErrorContains(t, err, `Options.Values is true: the queue was made with "false"`)

	other := connect(t, servers)
	_, err = other.CreateStream(t.Context(), jetstream.StreamConfig{Name: "shardq-taken-3", Subjects: []string{"taken"}})
	require.NoError(t, err)
	o = options(servers)
	o.Name = "taken"
	_, err = cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, "the stream shardq-taken-3 is configured otherwise: retention: Limits, want WorkQueue")
}

func TestPlacement(t *testing.T) {
	o := options(clustertest.Start(t, 3))
	o.Replicas, o.Placement = 3, &jetstream.Placement{Cluster: "clustertest", Tags: []string{"elsewhere"}}
	_, err := cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, "tags not matched")
	o.Placement.Tags = nil
	join(t, o)
}

func TestKeysThatCannotBeStored(t *testing.T) {
	node := join(t, options(clustertest.Start(t, 1)))
	require.ErrorIs(t, node.Add(t.Context(), ""), cluster.ErrKey)
	require.ErrorIs(t, node.Add(t.Context(), string(make([]byte, 2049))), cluster.ErrKey)
	require.NoError(t, node.Add(t.Context(), string(make([]byte, 2048))))
	require.ErrorIs(t, node.Put(t.Context(), "a", nil), cluster.ErrValues)
}

// TestAServerThatForgetsOthers checks that a message is delivered which the
// server does not count as one of its consumer, while the oldest is in flight.
func TestAServerThatForgetsOthers(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.Partitions = 1
	node := join(t, o)
	ran, goOn := make(chan string, 10), make(chan struct{})
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		if c.Key == "a" {
			<-goOn
		}
		return nil
	})
	require.NoError(t, node.Add(t.Context(), "a"))
	require.Equal(t, "a", receive(t, ran))
	_, err := connect(t, servers).ResetConsumerToSequence(t.Context(), "shardq-test-0", "owner", 100)
	require.NoError(t, err)
	require.NoError(t, node.Add(t.Context(), "b"))
	require.Equal(t, "b", receive(t, ran))
	close(goOn)
	waitUntilEmpty(t, node)
	stop()
}

// TestTheConsumerOfDueKeysFails checks that keys whose delay has expired run,
// although the server has lost track of them, or an operator has deleted their
// consumer.
func TestTheConsumerOfDueKeysFails(t *testing.T) {
	const stream, consumer = "shardq-test-delayed", "due"
	for name, fail := range map[string]func(js jetstream.JetStream) error{
		"the server forgets keys": func(js jetstream.JetStream) error {
			_, err := js.ResetConsumerToSequence(t.Context(), stream, consumer, 100)
			return err
		},
		"it is deleted": func(js jetstream.JetStream) error { return js.DeleteConsumer(t.Context(), stream, consumer) },
	} {
		t.Run(name, func(t *testing.T) {
			servers := clustertest.Start(t, 1)
			node := join(t, options(servers))
			ran, stop := workKeys(t, node)
			require.NoError(t, node.AddAfter(t.Context(), "a", time.Millisecond))
			receiveKey(t, ran, "a")
			require.NoError(t, fail(connect(t, servers)))
			require.NoError(t, node.AddAfter(t.Context(), "b", time.Millisecond))
			receiveKey(t, ran, "b")
			stop()
		})
	}
}

// TestAServerThatForgetsMessages checks that messages are delivered which the
// server does not count as those of its consumer.
func TestAServerThatForgetsMessages(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.Partitions, o.MaxAckPending = 1, 1
	node := join(t, o)
	ran, goOn := make(chan string, 10), make(chan struct{})
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		<-goOn
		return nil
	})
	require.NoError(t, node.Add(t.Context(), "a"))
	require.Equal(t, "a", receive(t, ran))
	require.NoError(t, node.AddAll(t.Context(), "b", "c"))
	_, err := connect(t, servers).ResetConsumerToSequence(t.Context(), "shardq-test-0", "owner", 100)
	require.NoError(t, err)
	close(goOn)
	require.Equal(t, "b", receive(t, ran))
	require.Equal(t, "c", receive(t, ran))
	waitUntilEmpty(t, node)
	stop()
}

// TestCloseDuringRun checks that a node which is closed while handlers fail
// ends its Run, and that another node runs the keys.
func TestCloseDuringRun(t *testing.T) {
	servers := clustertest.Start(t, 1)
	node := join(t, options(servers))
	began, goOn, ended := make(chan string, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- node.RunWith(context.Background(), cluster.RunOptions[string]{
			Workers: 1, MaxAttempts: 1, Handle: func(_ context.Context, c cluster.Claim[string]) error {
				began <- c.Key
				<-goOn
				return errors.New("no")
			},
		})
	}()
	require.NoError(t, node.Add(t.Context(), "a"))
	receive(t, began)
	require.NoError(t, node.Close())
	close(goOn)
	require.NoError(t, receive(t, ended))

	other := join(t, options(servers))
	stop := work(t, other, func(_ context.Context, c cluster.Claim[string]) error {
		began <- c.Key
		return nil
	})
	require.Equal(t, "a", receive(t, began))
	waitUntilEmpty(t, other)
	stop()
}

// TestAHandlerThatOutlivesTheLeave checks that no other node has its key before
// the lease has expired.
func TestAHandlerThatOutlivesTheLeave(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.LeaveTimeout = time.Millisecond
	one, other := join(t, o), join(t, o)
	began, running := make(chan string, 10), make(chan struct{})
	stopOne := work(t, one, func(ctx context.Context, c cluster.Claim[string]) error {
		began <- "one"
		<-ctx.Done()
		time.Sleep(o.Lease / 4) // it is slow to end
		close(running)
		return ctx.Err()
	})
	require.NoError(t, one.Add(t.Context(), "a"))
	require.Equal(t, "one", receive(t, began))
	stopOther := work(t, other, func(context.Context, cluster.Claim[string]) error {
		select {
		case <-running:
			began <- "other"
		default:
			began <- "too early"
		}
		return nil
	})
	stopOne()
	require.Equal(t, "other", receive(t, began))
	waitUntilEmpty(t, other)
	stopOther()
}

// TestManyKeysRunOnce checks that no key runs twice because the node has more
// than it can work on.
func TestManyKeysRunOnce(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.MaxHeld, o.Lease = 64, 5*time.Second
	node := join(t, o)
	const keys = 600
	ran := make(chan string, 10*keys)
	stop := start(t, node, cluster.RunOptions[string]{Workers: 4, Handle: func(_ context.Context, c cluster.Claim[string]) error {
		time.Sleep(50 * time.Millisecond) // longer than a lease in all
		ran <- c.Key
		return nil
	}})
	for i := range keys {
		require.NoError(t, node.Add(t.Context(), strconv.Itoa(i)))
	}
	waitUntilEmpty(t, node)
	require.LessOrEqual(t, node.Stats().Held, 64)
	stop()
	require.Len(t, ran, keys)
}

// TestDiscardedValuesStay checks that each value of a key that is discarded
// more than once has a letter, also one as large as a message may be.
func TestDiscardedValuesStay(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.Values = true
	node := join(t, o)
	discarded := make(chan worker.Failure[string], 10)
	stop := start(t, node, cluster.RunOptions[string]{
		Workers: 1, Handle: func(context.Context, cluster.Claim[string]) error {
			return worker.Permanent(errors.New(strings.Repeat("\x01long", 1000)))
		},
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { discarded <- f },
	})
	// No value is accepted that would be too large for a letter.
	size := 1<<20 - 512
	for errors.Is(node.Put(t.Context(), "a", make([]byte, size)), nats.ErrMaxPayload) {
		size -= 16
	}
	receive(t, discarded)
	require.Greater(t, size, 1<<20-2048)
	require.ErrorIs(t, node.PutAfter(t.Context(), "a", make([]byte, 1<<20-512), time.Hour), nats.ErrMaxPayload)
	for letter, err := range node.Dead(t.Context()) {
		require.NoError(t, err)
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
	for letter, err := range node.Dead(t.Context()) {
		require.NoError(t, err)
		require.Greater(t, len(letter.Reason), 250)
		values = append(values, letter.Value)
		require.NoError(t, node.Revive(t.Context(), letter))
	}
	require.Equal(t, [][]byte{[]byte("v1"), large}, values)
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, s.Pending)
	require.Zero(t, s.Dead)
}

// TestPrioritiesAndGroups checks that a node has the priorities and the groups
// of a queue in process.
func TestPrioritiesAndGroups(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.Partitions = 1
	o.Queue.Shards = 1
	o.Queue.Group = func(key string) string { return key[:1] }
	node := join(t, o)
	ran, goOn := make(chan string, 10), make(chan struct{})
	stop := start(t, node, cluster.RunOptions[string]{Workers: 1, Handle: func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		<-goOn
		return nil
	}})
	require.NoError(t, node.Add(t.Context(), "first"))
	require.Equal(t, "first", receive(t, ran))
	require.NoError(t, node.AddAll(t.Context(), "a1", "a2", "a3", "b1"))
	require.NoError(t, node.AddWith(t.Context(), "a4", cluster.AddOptions{Priority: 5}))
	require.Eventually(t, func() bool { return node.Stats().Held == 6 }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return node.Queue().Stats().Ready == 5 }, patience, time.Millisecond)
	close(goOn)
	var got []string
	for range 5 {
		got = append(got, receive(t, ran))
	}
	require.Equal(t, "a4", got[slices.IndexFunc(got, func(key string) bool { return key[0] == 'a' })], "the highest priority of its group")
	require.Less(t, slices.Index(got, "b1"), 2, "the groups take turns: %v", got)
	waitUntilEmpty(t, node)
	stop()
}

// TestPermissions checks that a user with the permissions that the
// documentation names can do all.
func TestPermissions(t *testing.T) {
	s := natsserver(t, &server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Users: []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"shardq.test.>", "$JS.API.>", "$JS.ACK.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}}},
	})
	o := cluster.Options[string]{
		Name: "test", Servers: s.ClientURL(), Partitions: 2, Lease: 2 * time.Second,
		NATS: []nats.Option{nats.UserInfo("u", "p")},
		Queue: shardq.Options[string]{
			RateLimiter: limiter.NewExponential[string](time.Millisecond, time.Millisecond),
		},
	}
	node := join(t, o)
	discarded := make(chan worker.Failure[string], 1)
	stop := start(t, node, cluster.RunOptions[string]{
		Workers: 1, MaxAttempts: 2,
		Handle:    func(context.Context, cluster.Claim[string]) error { return errors.New("no") },
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { discarded <- f },
	})
	require.NoError(t, node.AddAfter(t.Context(), "a", time.Millisecond))
	receive(t, discarded)
	waitUntilEmpty(t, node)
	for letter, err := range node.Dead(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, node.Forget(t.Context(), letter))
	}
	stop()

	o.NATS = nil
	_, err := cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, "Authorization Violation")
	plain := natsserver(t, &server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	o.Servers = plain.ClientURL()
	short, cancel := context.WithTimeout(t.Context(), time.Second) // enough for an election here
	defer cancel()
	_, err = cluster.Join(short, o)
	require.ErrorContains(t, err, "is JetStream enabled")
}

// natsserver starts a server with options of its own.
func natsserver(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	require.NoError(t, err)
	go s.Start()
	require.True(t, s.ReadyForConnections(patience))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// TestPanicsAndHooks checks that a handler that panics is a failure, that a
// hook that panics ends Run, and that the partitions are free afterwards.
func TestPanicsAndHooks(t *testing.T) {
	servers := clustertest.Start(t, 1)
	node := join(t, options(servers))
	require.NoError(t, node.Add(t.Context(), "a"))
	require.PanicsWithError(t, "hook", func() {
		defer func() {
			if p := recover(); p != nil {
				panic(p.(*worker.PanicError).Value)
			}
		}()
		_ = node.RunWith(t.Context(), cluster.RunOptions[string]{
			Workers: 1,
			Handle:  func(context.Context, cluster.Claim[string]) error { panic("handler") },
			OnError: func(_ context.Context, f worker.Failure[string]) {
				require.ErrorContains(t, f.Err, "handler")
				panic(errors.New("hook"))
			},
		})
	})
	require.ErrorIs(t, node.Run(t.Context(), 1, func(context.Context, cluster.Claim[string]) error { return nil }), cluster.ErrRunning)

	other := join(t, options(servers))
	ran := make(chan int, 1)
	stop := work(t, other, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Attempt()
		return nil
	})
	receive(t, ran)
	stop()
}
