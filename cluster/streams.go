package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
)

// A partition has a stream of its own, because the server asks all consumers of
// a stream at each acknowledgement.
type streams struct {
	work                 []jetstream.Stream // by partition
	delayed, state, dead jetstream.Stream
}

const (
	// The metadata of the state stream: what all nodes must agree on.
	partitionsKey = "shardq-partitions"
	leaseKey      = "shardq-lease"
	valuesKey     = "shardq-values"
	codecKey      = "shardq-codec"

	markerTime = time.Minute // how long the server tells that a lease has expired
)

// silentTime is what Join waits for a stream without which it can go on.
const silentTime = 5 * time.Second

// openStreams asks the streams side by side. Those that are silent are opened
// later: their partitions fail, and the others need not wait for them.
func openStreams[K comparable](ctx context.Context, js jetstream.JetStream, o Options[K]) (s streams, err error) {
	state, others := o.configurations()
	first := &stream{js: js, config: state, update: o.Update}
	if err = first.named(patiently(ctx, isSilent, first.open)); err != nil {
		return s, err
	}
	all, failed := make([]*stream, len(others)), make([]error, len(others))
	short, cancel := context.WithTimeout(ctx, silentTime)
	defer cancel()
	inLanes(len(all), len(all), func(i int) {
		all[i] = &stream{js: js, config: others[i], update: o.Update}
		failed[i] = patiently(short, passes, func(ctx context.Context) error { _, err := js.Stream(ctx, others[i].Name); return err })
	})
	inLanes(4, len(all), func(i int) {
		if err := failed[i]; isSilent(err) && !o.Update && ctx.Err() == nil {
			o.Logger.Warn("the node joins without a stream", "error", all[i].named(err))
			failed[i] = nil
			return
		}
		failed[i] = all[i].named(patiently(ctx, isSilent, all[i].open))
	})
	s.state, s.delayed, s.dead = first, all[0], all[1]
	for _, work := range all[2:] {
		s.work = append(s.work, work)
	}
	return s, cmp.Or(failed...) // they are alike
}

func inLanes(lanes, n int, f func(i int)) {
	free := make(chan struct{}, lanes)
	var all sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			f(i)
		})
	}
	all.Wait()
}

// configurations returns those of the state, and of the delayed keys, the dead
// letters and the partitions.
func (o Options[K]) configurations() (state jetstream.StreamConfig, others []jetstream.StreamConfig) {
	q := names.Queue(o.Name)
	// Each key has a subject, and each subject one message: the newest. Reads
	// go to the stream's leader, without AllowDirect: a replica may lag behind,
	// and show a delay that has ended.
	newest := jetstream.StreamConfig{
		MaxMsgsPerSubject: 1, Storage: jetstream.FileStorage, Replicas: o.Replicas, Placement: o.Placement,
	}
	state = newest
	state.Name, state.Subjects = q.StateStream(), []string{q.Leases(), q.Members(), q.All(names.Failures)}
	state.AllowMsgTTL, state.SubjectDeleteMarkerTTL = true, markerTime
	state.Metadata = map[string]string{
		partitionsKey: strconv.Itoa(o.Partitions), leaseKey: o.Lease.String(), valuesKey: strconv.FormatBool(o.Values),
		codecKey: nameOf(o.Codec),
	}
	// A stream with schedules cannot have DiscardNew, so it is another one.
	delayed := newest
	delayed.Name, delayed.Retention = q.DelayedStream(), jetstream.WorkQueuePolicy
	delayed.Subjects, delayed.AllowMsgSchedules = []string{q.All(names.Delay), q.All(names.Due)}, true
	dead := newest
	dead.Name, dead.Subjects = q.DeadStream(), []string{q.All(names.Dead)}
	if o.Values { // each letter has a value that no other has
		dead.MaxMsgsPerSubject = -1
	}
	limit(&dead, o.MaxDead) // what it refuses stays where it is
	others = []jetstream.StreamConfig{delayed, dead}
	for partition := range o.Partitions {
		one := newest
		one.Name, one.Subjects = q.WorkStream(partition), []string{q.Of(names.Work, partition)}
		one.Retention = jetstream.WorkQueuePolicy
		if o.Values {
			one.MaxMsgsPerSubject = -1
		}
		limit(&one, o.MaxPending)
		others = append(others, one)
	}
	return state, others
}

// limit refuses messages beyond the limit: the server's default deletes the oldest.
func limit(stream *jetstream.StreamConfig, messages int64) {
	if stream.MaxMsgs = messages; messages > 0 {
		stream.Discard = jetstream.DiscardNew
	}
}

// compare returns how a stream differs, or changes it.
func (s *stream) compare(ctx context.Context, have jetstream.StreamConfig) error {
	want := s.config
	if err := errors.Join(
		agree(have.Metadata, want.Metadata),
		differs("retention", have.Retention, want.Retention),
		differs("messages per subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject),
		differs("schedules", have.AllowMsgSchedules, want.AllowMsgSchedules),
		differs("lives of messages", have.AllowMsgTTL, want.AllowMsgTTL),
		differs("subjects", fmt.Sprint(have.Subjects), fmt.Sprint(want.Subjects)),
	); err != nil {
		return err
	}
	next, difference := change(have, want)
	if difference == nil || !s.update {
		return difference
	}
	_, err := s.js.UpdateStream(ctx, next)
	return err
}

// change returns a stream with what want has of that which can be changed, and an
// error that has the differences. What is zero in want stays as it is.
func change(have, want jetstream.StreamConfig) (next jetstream.StreamConfig, difference error) {
	next = have
	note := func(what string, has, wants any) {
		difference = errors.Join(difference, fmt.Errorf("it has %s: %v, want %v: "+
			"change the option, or the queue, by Options.Update or shardq-admin", what, has, wants))
	}
	if want.Replicas != 0 && want.Replicas != have.Replicas {
		note("Replicas", have.Replicas, want.Replicas)
		next.Replicas = want.Replicas
	}
	if want.MaxMsgs != 0 && want.MaxMsgs != have.MaxMsgs {
		note("a limit of messages", have.MaxMsgs, want.MaxMsgs)
		limit(&next, want.MaxMsgs)
	}
	if want.Placement != nil && !reflect.DeepEqual(want.Placement, have.Placement) {
		note("Placement", have.Placement, want.Placement)
		next.Placement = want.Placement
	}
	return next, difference
}

func differs[V comparable](what string, have, want V) error {
	if have == want {
		return nil
	}
	return fmt.Errorf("it is configured otherwise: %s: %v, want %v", what, have, want)
}

func agree(have, want map[string]string) (err error) {
	for _, each := range []struct{ option, key string }{
		{"Partitions", partitionsKey}, {"Lease", leaseKey}, {"Values", valuesKey}, {"Codec", codecKey},
	} {
		if want[each.key] != "" && have[each.key] != want[each.key] {
			err = errors.Join(err, fmt.Errorf("cluster: Options.%s is %s: the queue was made with %q",
				each.option, want[each.key], have[each.key]))
		}
	}
	return err
}

func nameOf(codec any) string {
	if c, has := codec.(interface{ Name() string }); has {
		return c.Name()
	}
	return fmt.Sprintf("%T", codec)
}

// Existing fills in the Partitions, Lease, Values and Replicas of a queue that
// exists. Without one the error wraps jetstream.ErrStreamNotFound.
func Existing[K comparable](ctx context.Context, o Options[K]) (Options[K], error) {
	connection, _, stop, err := o.connect()
	if err != nil {
		return o, err
	}
	defer stop()
	js, err := o.jetStream(connection)
	if err != nil {
		return o, fmt.Errorf("cluster: %w", err)
	}
	var state jetstream.Stream
	err = unanswered(connection, patiently(ctx, isSilent, func(ctx context.Context) (err error) {
		state, err = js.Stream(ctx, names.Queue(o.Name).StateStream())
		return err
	}))
	if err != nil {
		return o, fmt.Errorf("cluster: the queue %q: %w", o.Name, err)
	}
	config := state.CachedInfo().Config
	o.Replicas = config.Replicas
	o.Partitions, err = strconv.Atoi(config.Metadata[partitionsKey])
	if err == nil {
		o.Lease, err = time.ParseDuration(config.Metadata[leaseKey])
	}
	if err == nil {
		o.Values, err = strconv.ParseBool(config.Metadata[valuesKey])
	}
	if err != nil {
		return o, fmt.Errorf("cluster: the queue %q has other metadata: %w", o.Name, err)
	}
	return o, nil
}
