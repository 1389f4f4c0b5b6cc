package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

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
	node, err := cluster.Join(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	return node
}

// alone returns a node with a server, and the server.
func alone(t *testing.T, change func(o *cluster.Options[string])) (*cluster.Node[string], *clustertest.Servers) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	change(&o)
	return join(t, o), servers
}

func asItIs(*cluster.Options[string]) {}

type handler = func(context.Context, cluster.Claim[string]) error

// start runs a node in the background. stop ends the run, and waits for it.
func start(t *testing.T, node *cluster.Node[string], o cluster.RunOptions[string]) (stop func()) {
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
	return start(t, node, cluster.RunOptions[string]{Workers: 4, Handle: handle})
}

// workKeys has a node send the keys that it runs.
func workKeys(t *testing.T, node *cluster.Node[string]) (ran <-chan string, stop func()) {
	keys := make(chan string, 2000)
	return keys, work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		keys <- c.Key
		return nil
	})
}

// discard runs a node whose failures of attempts are final after some of them.
func discard(t *testing.T, node *cluster.Node[string], attempts int, handle handler) (discarded <-chan worker.Failure[string], stop func()) {
	failures := make(chan worker.Failure[string], 10)
	return failures, start(t, node, cluster.RunOptions[string]{
		Workers: 1, MaxAttempts: attempts, Handle: handle,
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { failures <- f },
	})
}

func fails(context.Context, cluster.Claim[string]) error { return errors.New("no") }

// connect returns a client of the servers.
func connect(t *testing.T, servers *clustertest.Servers) jetstream.JetStream {
	conn, err := nats.Connect(servers.URLs())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	return js
}

// receive receives from a channel, and fails if that takes too long.
func receive[V any](t *testing.T, c <-chan V) (v V) {
	select {
	case v = <-c:
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
	}
	return v
}

// receiveKey receives keys until one comes. Others may run again meanwhile.
func receiveKey(t *testing.T, ran <-chan string, want string) {
	for receive(t, ran) != want {
	}
}

// receiveKeys receives keys, in any order.
func receiveKeys(t *testing.T, ran <-chan string, want ...string) {
	var got []string
	for range want {
		got = append(got, receive(t, ran))
	}
	require.ElementsMatch(t, want, got)
}

func status(t *testing.T, node *cluster.Node[string]) cluster.Status {
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	return s
}

// waitUntilEmpty waits until nothing is pending.
func waitUntilEmpty(t *testing.T, node *cluster.Node[string]) {
	eventually(t, func() bool {
		s, err := node.Status(t.Context())
		return err == nil && s.Pending == 0
	})
}

func eventually(t *testing.T, is func() bool) {
	require.Eventually(t, is, patience, 20*time.Millisecond)
}

// letters returns the dead letters.
func letters(t *testing.T, node *cluster.Node[string]) (all []cluster.DeadLetter[string]) {
	for letter, err := range node.Dead(t.Context()) {
		require.NoError(t, err)
		all = append(all, letter)
	}
	return all
}

func TestAKeyThatIsPendingIsStoredOnce(t *testing.T) {
	one, servers := alone(t, asItIs)
	other := join(t, options(servers))
	for range 10 {
		require.NoError(t, one.Add(t.Context(), "a"))
		require.NoError(t, other.AddAll(t.Context(), "a", "b"))
	}
	require.EqualValues(t, 2, status(t, one).Pending)
	ran, stop := workKeys(t, one)
	receiveKeys(t, ran, "a", "b")
	waitUntilEmpty(t, one)
	stop()
	require.Empty(t, ran, "each key ran once")
	require.EqualValues(t, 2, one.Stats().Done)
	require.EqualValues(t, 10, one.Stats().Added)
	require.EqualValues(t, 20, other.Stats().Added)
}

func TestOfSeveralDelaysTheEarliestCounts(t *testing.T) {
	node, _ := alone(t, asItIs)
	ran, stop := workKeys(t, node)
	began := time.Now()
	for _, delay := range []time.Duration{time.Hour, 500 * time.Millisecond, 2 * time.Hour} {
		require.NoError(t, node.AddAfter(t.Context(), "a", delay))
	}
	require.EqualValues(t, 1, status(t, node).Delayed)
	receive(t, ran)
	require.GreaterOrEqual(t, time.Since(began), 500*time.Millisecond)
	waitUntilEmpty(t, node)
	stop()
	require.Empty(t, ran)
}

// TestAttemptsCountOnAllNodes checks that a key which fails on one node has the
// attempts that it has left on another, and that it is then a dead letter,
// which can be added again.
func TestAttemptsCountOnAllNodes(t *testing.T) {
	one, servers := alone(t, asItIs)
	attempts := make(chan int, 10)
	failing := func(_ context.Context, c cluster.Claim[string]) error {
		attempts <- c.Attempt()
		return fmt.Errorf("no %s", c.Key)
	}
	o := options(servers)
	o.Queue.RateLimiter = limiter.NewExponential[string](time.Hour, time.Hour)
	slow := join(t, o)
	stop := work(t, slow, failing)
	require.NoError(t, one.Add(t.Context(), "a"))
	require.Equal(t, 1, receive(t, attempts))
	waitUntilEmpty(t, slow) // the delay of an hour is with the servers
	stop()

	discarded, _ := discard(t, one, 3, failing)
	require.NoError(t, one.Add(t.Context(), "a"))
	require.Equal(t, 2, receive(t, attempts))
	require.Equal(t, 3, receive(t, attempts))
	f := receive(t, discarded)
	require.Equal(t, 3, f.Attempt)
	require.Equal(t, "test", f.Queue)
	waitUntilEmpty(t, one)
	all := letters(t, one)
	require.Len(t, all, 1)
	require.Equal(t, "a", all[0].Key)
	require.Equal(t, "no a", all[0].Reason)
	require.Equal(t, 3, all[0].Attempts)
	require.NoError(t, one.Revive(t.Context(), all[0]))
	require.Equal(t, 1, receive(t, attempts), "it starts over")
}

// TestACancelEndsARun checks that a canceled run is not repeated when it fails,
// and that failures are forgotten, by the node that has the key and without one.
func TestACancelEndsARun(t *testing.T) {
	slow := func(o *cluster.Options[string]) {
		o.Queue.RateLimiter = limiter.NewExponential[string](time.Hour, time.Hour)
	}
	node, servers := alone(t, slow)
	type run struct {
		cluster.Claim[string]
		attempt int
	}
	runs, fail := make(chan run), make(chan struct{})
	handle := func(_ context.Context, c cluster.Claim[string]) error {
		runs <- run{c, c.Attempt()}
		<-fail
		return errors.New("on purpose")
	}
	begins := func(attempt int) (r run) {
		r = receive(t, runs)
		require.Equal(t, attempt, r.attempt)
		return r
	}
	add := func() { require.NoError(t, node.Add(t.Context(), "a")) }
	cancel := func() {
		canceled, err := node.Cancel(t.Context(), "a")
		require.NoError(t, err)
		require.True(t, canceled)
	}
	stop := work(t, node, handle)
	failOnce := func() {
		add()
		begins(1)
		fail <- struct{}{}
		waitUntilEmpty(t, node) // the delay of an hour is with the servers
	}
	failOnce()
	add()
	r := begins(2)
	cancel()
	eventually(t, func() bool { return r.Attempt() == 1 }) // the node has heard of it
	fail <- struct{}{}
	waitUntilEmpty(t, node)
	require.Zero(t, status(t, node).Delayed)
	failOnce()
	stop()
	cancel()
	o := options(servers)
	slow(&o)
	work(t, join(t, o), handle)
	add()
	begins(1)
	close(fail)
}

func TestAFullQueueRefusesKeys(t *testing.T) {
	node, _ := alone(t, func(o *cluster.Options[string]) { o.MaxPending, o.Partitions = 2, 1 })
	require.ErrorIs(t, node.Add(t.Context(), ""), cluster.ErrKey)
	require.NoError(t, node.AddAll(t.Context(), "a", "b"))
	require.ErrorIs(t, node.Add(t.Context(), "c"), cluster.ErrFull)
	require.ErrorIs(t, node.AddAll(t.Context(), "c"), cluster.ErrFull)
	require.NoError(t, node.Add(t.Context(), "a"), "a pending key needs no room")
	require.NoError(t, node.AddAfter(t.Context(), "c", time.Millisecond), "and neither does a delay")
	ran, _ := workKeys(t, node)
	receiveKeys(t, ran, "a", "b", "c")
}

// TestAHandlerThatOutlivesTheLeave checks that no other node has its key before
// the lease has expired.
func TestAHandlerThatOutlivesTheLeave(t *testing.T) {
	short := func(o *cluster.Options[string]) { o.LeaveTimeout = time.Millisecond }
	one, servers := alone(t, short)
	o := options(servers)
	short(&o)
	other := join(t, o)
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
	work(t, other, func(context.Context, cluster.Claim[string]) error {
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
}

func TestAQueueOfOneProcessSurvivesItsEnd(t *testing.T) {
	o := cluster.Options[string]{Name: "durable", Dir: t.TempDir(), Lease: 2 * time.Second, Partitions: 4}
	node := join(t, o)
	require.NoError(t, node.AddAll(t.Context(), "a", "b"))
	require.NoError(t, node.AddAfter(t.Context(), "c", time.Millisecond))
	_, err := cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, "another process uses it")
	require.NoError(t, node.Close())
	require.ErrorIs(t, node.Close(), cluster.ErrClosed)
	require.ErrorIs(t, node.Add(t.Context(), "a"), cluster.ErrClosed)

	node = join(t, o)
	ran, _ := workKeys(t, node)
	receiveKeys(t, ran, "a", "b", "c")
}

// TestCloseDuringRun checks that a node which is closed while handlers fail
// ends its Run, and that another node runs the keys.
func TestCloseDuringRun(t *testing.T) {
	node, servers := alone(t, asItIs)
	began, goOn := make(chan string, 1), make(chan struct{})
	_, stop := discard(t, node, 1, func(_ context.Context, c cluster.Claim[string]) error {
		began <- c.Key
		<-goOn
		return errors.New("no")
	})
	require.NoError(t, node.Add(t.Context(), "a"))
	receive(t, began)
	require.NoError(t, node.Close())
	close(goOn)
	stop()

	other := join(t, options(servers))
	ran, _ := workKeys(t, other)
	require.Equal(t, "a", receive(t, ran))
	waitUntilEmpty(t, other)
}

// TestManyKeysRunOnce checks that no key runs twice because the node has more
// than it can work on.
func TestManyKeysRunOnce(t *testing.T) {
	node, _ := alone(t, func(o *cluster.Options[string]) { o.MaxHeld, o.Lease = 64, 5*time.Second })
	const keys = 600
	ran := make(chan string, 10*keys)
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		time.Sleep(50 * time.Millisecond) // longer than a lease in all
		ran <- c.Key
		return nil
	})
	for i := range keys {
		require.NoError(t, node.Add(t.Context(), strconv.Itoa(i)))
	}
	waitUntilEmpty(t, node)
	require.LessOrEqual(t, node.Stats().Held, 64)
	stop()
	require.Len(t, ran, keys)
}

// TestPrioritiesAndGroups checks that a node has the priorities and the groups
// of a queue in process.
func TestPrioritiesAndGroups(t *testing.T) {
	node, _ := alone(t, func(o *cluster.Options[string]) {
		o.Partitions, o.Queue.Shards, o.Queue.Group = 1, 1, func(key string) string { return key[:1] }
	})
	ran, goOn := make(chan string, 10), make(chan struct{})
	start(t, node, cluster.RunOptions[string]{Workers: 1, Handle: func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		<-goOn
		return nil
	}})
	require.NoError(t, node.Add(t.Context(), "first"))
	require.Equal(t, "first", receive(t, ran))
	require.NoError(t, node.AddAll(t.Context(), "a1", "a2", "a3", "b1"))
	require.NoError(t, node.AddWith(t.Context(), "a4", cluster.AddOptions{Priority: 5}))
	eventually(t, func() bool { return node.Stats().Held == 6 && node.Queue().Stats().Ready == 5 })
	close(goOn)
	var got []string
	for range 5 {
		got = append(got, receive(t, ran))
	}
	require.Equal(t, "a4", got[slices.IndexFunc(got, func(key string) bool { return key[0] == 'a' })], "the highest priority of its group")
	require.Less(t, slices.Index(got, "b1"), 2, "the groups take turns: %v", got)
	waitUntilEmpty(t, node)
}

// TestPanicsAndHooks checks that a handler that panics is a failure, that a
// hook that panics ends Run, and that the partitions are free afterwards.
func TestPanicsAndHooks(t *testing.T) {
	node, servers := alone(t, asItIs)
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
	require.ErrorIs(t, node.Run(t.Context(), 1, fails), cluster.ErrRunning)
	ran, _ := workKeys(t, join(t, options(servers)))
	receive(t, ran)
}

type requestKey struct{}

// withInject has adds carry the request of their context, and headers that are
// not theirs.
func withInject(o *cluster.Options[string]) {
	o.Inject = func(ctx context.Context, header nats.Header) {
		if request, has := ctx.Value(requestKey{}).(string); has {
			header.Set("traceparent", request)
			header.Set("Shardq-Priority", "1000000")
			header.Set("nats-schedule", "@at never")
		}
	}
}

func request(t *testing.T, name string) context.Context {
	return context.WithValue(t.Context(), requestKey{}, name)
}

// An attempt is what a handler sees of the requests of its messages.
type attempt struct {
	key      string
	requests []string
}

func attemptOf(c cluster.Claim[string]) attempt {
	a := attempt{key: c.Key}
	for _, header := range c.Headers() {
		a.requests = append(a.requests, header.Get("traceparent"))
	}
	return a
}

// TestHeadersReachTheHandler checks the headers of each kind of add, also after
// a failure, and after a backoff that the servers keep.
func TestHeadersReachTheHandler(t *testing.T) {
	node, _ := alone(t, withInject)
	attempts := make(chan attempt, 10)
	first := map[string]error{"delayed": errors.New("on purpose"), "backoff": worker.RequeueAfter(1100 * time.Millisecond)}
	start(t, node, cluster.RunOptions[string]{Workers: 1, Handle: func(_ context.Context, c cluster.Claim[string]) error {
		attempts <- attemptOf(c)
		err := first[c.Key]
		delete(first, c.Key)
		return err
	}})
	for _, each := range []struct {
		key  string
		runs int
		add  func(ctx context.Context, key string) error
	}{
		{"key", 1, node.Add},
		{"delayed", 2, func(ctx context.Context, key string) error { return node.AddAfter(ctx, key, 100*time.Millisecond) }},
		{"backoff", 2, node.Add},
		{"many", 1, func(ctx context.Context, key string) error { return node.AddAll(ctx, key) }},
	} {
		require.NoError(t, each.add(request(t, "r1"), each.key))
		for range each.runs {
			require.Equal(t, attempt{each.key, []string{"r1"}}, receive(t, attempts))
		}
	}
	require.NoError(t, node.Add(t.Context(), "none"))
	require.Equal(t, attempt{"none", []string{""}}, receive(t, attempts))
}
