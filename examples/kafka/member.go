package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

const (
	pollAtMost    = 5_000  // records: if a rebalance waits for them, they may exceed maxPending
	maxPending    = 50_000 // keys
	commitEach    = time.Second
	numPartitions = 12 // of the demonstration
	lost          = -1 // in place of a generation: nothing of the partition is written any more
)

// A partition is one that the member has, from an assignment to the next
// revocation. When it comes back, that is another one.
type partition struct {
	name       string // topic/number
	number     int32
	generation atomic.Int32     // of the group when it was assigned, or lost
	from       int64            // where reading begins
	ahead      map[string]int64 // the highest offsets of keys that the database has beyond that
	source     *coalesce.Source[key, int64]
}

// A key belongs to a partition, so that no value has records of two: when one is
// lost, its values can be told from others.
type key struct {
	of   *partition
	name string
}

type (
	row    = coalesce.Entry[key, int64] // with the number of records
	events = coalesce.Coalescer[key, int64]
)

// A member reads partitions, merges the records of each key, and writes them in
// batches. The callbacks of the client wait while it handles a poll.
type member struct {
	options
	log        *log.Logger
	client     *kgo.Client
	sink       *sink
	events     *events
	workers    *worker.Pool[row]
	partitions map[int32]*partition               // by number
	hurry      atomic.Pointer[context.CancelFunc] // for a rebalance that waits
	lastCommit time.Time
	leftOut    int
}

func newMember(o options, out io.Writer) (m *member, err error) {
	m = &member{options: o, log: log.New(out, cmp.Or(o.child, "kafka")+": ", 0), partitions: map[int32]*partition{}}
	m.events = coalesce.MustNew(coalesce.Options[key, int64]{
		Queue:    shardq.Options[key]{Name: "kafka", RateLimiter: limiter.NewExponential[key](5*time.Millisecond, time.Second)},
		Merge:    func(pending, next int64) int64 { return pending + next },
		Capacity: maxPending,
	})
	if m.workers, err = worker.New(m.events, worker.Options[row]{Workers: 2, HandleBatch: m.write, BatchSize: 2048}); err != nil {
		return nil, err
	}
	if m.sink, err = openSink(o.database); err != nil {
		return nil, err
	}
	m.client, err = kgo.NewClient(
		kgo.SeedBrokers(strings.Split(o.brokers, ",")...), kgo.ConsumerGroup(o.group),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(o.session), kgo.HeartbeatInterval(o.session/10), kgo.RebalanceTimeout(10*time.Second+2*o.bound),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsCallbackBlocked(func(context.Context, *kgo.Client) { (*m.hurry.Load())() }),
		kgo.OnPartitionsAssigned(m.begin), kgo.AdjustFetchOffsetsFn(m.seek),
		kgo.OnPartitionsRevoked(m.letGo), kgo.OnPartitionsLost(m.lose),
	)
	return m, err
}

// run returns when ctx ends, after the member has left the group.
func (m *member) run(ctx context.Context) error {
	working, leave := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.workers.Run(working) }()
	m.client.AddConsumeTopics(m.topic) // joins
	for ctx.Err() == nil {
		m.poll(ctx)
		m.client.AllowRebalance()
	}
	m.client.CloseAllowingRebalance() // calls letGo
	leave()
	m.log.Printf("has left the group; %d records were left out: the database had them, or they have no key", m.leftOut)
	return errors.Join(<-ended, m.sink.db.Close())
}

func (m *member) poll(ctx context.Context) {
	room, hurry := context.WithCancel(ctx)
	defer hurry()
	m.hurry.Store(&hurry)
	timeout, cancel := context.WithTimeout(ctx, commitEach)
	defer cancel()
	fetches := m.client.PollRecords(timeout, pollAtMost)
	if err := fetches.Err(); err != nil && timeout.Err() == nil {
		m.log.Printf("reading goes on after an error: %v", err)
	}
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		for _, r := range f.Records {
			m.put(room, m.partitions[f.Partition], r)
		}
	})
	if ctx.Err() == nil && time.Since(m.lastCommit) >= commitEach {
		m.lastCommit = time.Now()
		m.commit(ctx, slices.Collect(maps.Values(m.partitions)), false)
	}
}

func (m *member) put(room context.Context, p *partition, r *kgo.Record) {
	k := key{p, string(r.Key)}
	var err error
	if written, is := p.ahead[k.name]; r.Key == nil || is && r.Offset <= written {
		m.leftOut++
		err = p.source.Skip(r.Offset)
	} else if err = p.source.PutContext(room, k, 1, r.Offset, coalesce.PutOptions{}); errors.Is(err, context.Canceled) {
		err = p.source.Put(k, 1, r.Offset) // beyond the capacity
	}
	if err != nil && !errors.Is(err, coalesce.ErrSourceClosed) {
		m.log.Fatal(err) // another log has its place; like any crash, this loses nothing
	}
}

func (m *member) write(ctx context.Context, rows []row) []error {
	partitions := map[*partition]bool{}
	for _, r := range rows {
		partitions[r.Key.of] = true
	}
	return worker.FailAll(len(rows), m.store(ctx, slices.Collect(maps.Keys(partitions)), rows)) // what is lost stays out
}

func (m *member) store(ctx context.Context, partitions []*partition, rows []row) error {
	fenced, err := m.sink.write(ctx, partitions, rows, m.events)
	if fenced != nil {
		m.drop(fenced)
	} else if err != nil {
		m.log.Printf("a transaction failed: %v", err)
	}
	return err
}

func (m *member) begin(_ context.Context, client *kgo.Client, numbers map[string][]int32) {
	_, generation := client.GroupMetadata()
	for _, number := range numbers[m.topic] {
		p := &partition{name: fmt.Sprint(m.topic, "/", number), number: number}
		p.generation.Store(generation)
		if err := m.sink.claim(p); err != nil {
			m.log.Fatal(err)
		}
		p.source, _ = m.events.NewSource(p.name, p.from) // the last one was finished or dropped
		m.partitions[number] = p
		m.log.Printf("%s: reads from %d, beyond which %d keys were written", p.name, p.from, len(p.ahead))
	}
}

// seek follows begin. The offsets of the group are for those who watch its lag.
func (m *member) seek(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for number := range offsets[m.topic] {
		offsets[m.topic][number] = kgo.NewOffset().At(m.partitions[number].from)
	}
	return offsets, nil
}

// letGo finishes the keys of partitions within the bound, during heartbeats, and commits.
func (m *member) letGo(ctx context.Context, _ *kgo.Client, numbers map[string][]int32) {
	ctx, cancel := context.WithTimeout(ctx, 2*m.bound)
	defer cancel()
	finish, cancel := context.WithTimeout(ctx, m.bound)
	defer cancel()
	partitions := m.take(numbers[m.topic])
	for _, p := range partitions {
		err := p.source.Finish(finish)
		if err != nil {
			p.source.Drop()
		}
		m.log.Printf("%s: ends at %d, finished: %v", p.name, p.source.Safe(), err == nil)
	}
	m.commit(ctx, partitions, true)
}

// lose commits nothing: others may have the partitions already.
func (m *member) lose(_ context.Context, _ *kgo.Client, numbers map[string][]int32) {
	for _, p := range m.take(numbers[m.topic]) {
		m.drop(p)
	}
}

func (m *member) take(numbers []int32) (taken []*partition) {
	for _, number := range numbers {
		taken = append(taken, m.partitions[number])
		delete(m.partitions, number)
	}
	return taken
}

func (m *member) drop(p *partition) {
	if p.generation.Swap(lost) != lost {
		p.source.Drop()
		m.log.Printf("%s: lost: nothing of it is written any more", p.name)
	}
}

// commit stores the safe positions in the database, and then in the group.
func (m *member) commit(ctx context.Context, partitions []*partition, last bool) {
	partitions = slices.DeleteFunc(partitions, func(p *partition) bool { return p.generation.Load() == lost })
	offsets := map[int32]kgo.EpochOffset{}
	for _, p := range partitions {
		offsets[p.number] = kgo.EpochOffset{Epoch: -1, Offset: p.source.Safe()}
	}
	if err := m.store(ctx, partitions, nil); err != nil {
		return
	}
	commit := m.client.CommitOffsets // reading goes on
	if last {
		commit = m.client.CommitOffsetsSync
	}
	commit(ctx, map[string]map[int32]kgo.EpochOffset{m.topic: offsets}, nil)
}
