// Command kafka is a member of a consumer group. It counts the records of a topic by
// their keys in a SQLite database, which has each record exactly once.
//
// Without -brokers it is a demonstration: it starts a fake cluster, and members as
// processes, one of which it kills. At the end it compares the counts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

type options struct {
	brokers, topic, group, database, child string
	records                                int
	session, bound, timeout                time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.brokers, "brokers", "", "the `addresses` of a cluster to join, with commas (default a fake one)")
	flag.StringVar(&o.topic, "topic", "events", "the `topic` to read")
	flag.StringVar(&o.group, "group", "shardq", "the consumer `group`: each needs a database of its own")
	flag.StringVar(&o.database, "db", "", "the SQLite `file` of the counts, which all members of the group share")
	flag.IntVar(&o.records, "records", 200_000, "how many records the demonstration produces")
	flag.DurationVar(&o.session, "session", 6*time.Second, "how long the group waits for a member that is silent")
	flag.DurationVar(&o.bound, "bound", 2*time.Second, "how long a member finishes partitions that another gets")
	flag.DurationVar(&o.timeout, "timeout", 3*time.Minute, "how long the demonstration may take")
	flag.StringVar(&o.child, "child", "", "used by the demonstration: the name of a member that leaves when its input ends")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if o.child != "" {
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); stop() }() // also if the parent is killed
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("want no arguments: %q", flag.Args())
	case (o.brokers == "") != (o.database == ""):
		return fmt.Errorf("-brokers is %q, and -db %q: want both or none", o.brokers, o.database)
	case o.brokers == "":
		return demonstrate(ctx, o)
	}
	m, err := newMember(o, os.Stdout)
	if err != nil {
		return err
	}
	return m.run(ctx)
}

type demo struct {
	options
	ctx      context.Context
	fail     context.CancelCauseFunc // also kills the members
	cluster  *kfake.Cluster
	producer *kgo.Client
	produced map[string]int64
	sent     int
}

func newDemo(ctx context.Context, o options, directory string) *demo {
	d := &demo{options: o, produced: map[string]int64{}}
	d.ctx, d.fail = context.WithCancelCause(ctx)
	d.database = filepath.Join(directory, "counts.db")
	d.cluster = kfake.MustCluster(kfake.NumBrokers(1), kfake.SeedTopics(numPartitions, o.topic), kfake.GroupMinSessionTimeout(o.session))
	d.brokers = d.cluster.ListenAddrs()[0]
	producer, err := kgo.NewClient(kgo.SeedBrokers(d.brokers), kgo.DefaultProduceTopic(o.topic))
	d.try(err)
	d.producer = producer
	return d
}

func (d *demo) try(err error) {
	if err != nil {
		d.fail(err)
	}
}

// demonstrate kills B and starts C while members have work.
func demonstrate(ctx context.Context, o options) error {
	directory, err := os.MkdirTemp("", "shardq-kafka-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("it did not end within -timeout %v", o.timeout))
	defer cancel()
	d := newDemo(ctx, o, directory)
	leaveA, _ := d.start("A", 1)
	_, killB := d.start("B", 2)
	d.produce(o.records / 3)
	d.awaitCommits(d.sent * 2 / 3) // so B has begun
	d.produce(o.records / 3)
	fmt.Printf("killing B after %d of %d records; the group misses it in %v\n", d.sent, o.records, o.session)
	killB()
	leaveC, _ := d.start("C", 2)
	d.produce(o.records - d.sent)
	d.awaitCommits(d.sent)
	leaveA()
	leaveC()
	return d.prove()
}

// start starts a member as a process of this program, and waits until it has its share.
func (d *demo) start(name string, members int) (leave, kill func()) {
	program, _ := os.Executable()
	ctx, kill := context.WithCancel(d.ctx)
	command := exec.CommandContext(ctx, program, "-child", name, "-brokers", d.brokers, "-topic", d.topic,
		"-group", d.group, "-db", d.database, "-session", d.session.String(), "-bound", d.bound.String())
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	in, _ := command.StdinPipe() // before Start it succeeds
	d.try(command.Start())
	_, err := d.cluster.WaitGroupInfo(d.ctx, d.group, func(g *kfake.GroupInfo) bool {
		return g != nil && len(g.Members) == members && !slices.ContainsFunc(g.Members, func(m kfake.GroupMember) bool {
			return m.NumAssigned() != numPartitions/members
		})
	})
	d.try(err)
	return func() { d.try(errors.Join(in.Close(), command.Wait())) }, kill
}

func (d *demo) produce(n int) {
	for range n {
		name := fmt.Sprint("user-", int(rand.ExpFloat64()*1000))
		if rand.IntN(20_000) == 0 {
			name = fmt.Sprintf("%300s", name) // the database refuses it
		}
		d.produced[name]++
		d.producer.Produce(d.ctx, &kgo.Record{Key: []byte(name)}, func(_ *kgo.Record, err error) { d.try(err) })
	}
	d.sent += n
	d.try(d.producer.Flush(d.ctx))
}

func (d *demo) awaitCommits(records int) {
	_, err := d.cluster.WaitGroupInfo(d.ctx, d.group, func(g *kfake.GroupInfo) bool {
		sum := int64(0)
		for i := int32(0); g != nil && i < numPartitions; i++ {
			sum += g.Commits[d.topic][i].Offset
		}
		return sum >= int64(records)
	})
	d.try(err)
}

// prove compares the database with what was produced.
func (d *demo) prove() error {
	defer d.cluster.Close()
	s, err := openSink(d.database)
	if err = errors.Join(context.Cause(d.ctx), err); err != nil {
		return err
	}
	defer s.db.Close()
	produced, _ := json.Marshal(d.produced)
	var keys, wrong int
	err = s.db.QueryRow(`SELECT count(*), count(*) FILTER (WHERE records IS NOT value) FROM (SELECT key, sum(records) AS records
		FROM (SELECT key, records FROM totals UNION ALL SELECT key, records FROM dead_letters) GROUP BY key)
		FULL JOIN json_each(?) USING (key)`, string(produced)).Scan(&keys, &wrong)
	if err != nil || wrong > 0 {
		return fmt.Errorf("NOT PROVEN: of %d keys, %d have other counts in the database (%v)", keys, wrong, err)
	}
	fmt.Printf("proof: the database has each of %d records once: the counts of all %d keys are equal\n", d.sent, keys)
	return nil
}
