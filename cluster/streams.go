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

	"github.com/nats-io/nats.go"
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

	markerTime = time.Minute // how long the server tells that a lease has expired
)

func openStreams[K comparable](ctx context.Context, js jetstream.JetStream, o Options[K]) (s streams, err error) {
	state, work, others := o.configurations()
	if s.state, err = openStream(ctx, js, state, o.Update); err != nil {
		return s, err
	}
	for i, stream := range []*jetstream.Stream{&s.delayed, &s.dead} {
		if *stream, err = openStream(ctx, js, others[i], o.Update); err != nil {
			return s, err
		}
	}
	s.work = make([]jetstream.Stream, len(work))
	failed := make([]error, len(work))
	inLanes(4, len(work), func(i int) { s.work[i], failed[i] = openStream(ctx, js, work[i], o.Update) })
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

func (o Options[K]) configurations() (state jetstream.StreamConfig, work, others []jetstream.StreamConfig) {
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
	}
	for partition := range o.Partitions {
		one := newest
		one.Name, one.Subjects = q.WorkStream(partition), []string{q.Of(names.Work, partition)}
		one.Retention = jetstream.WorkQueuePolicy
		if o.Values {
			one.MaxMsgsPerSubject = -1
		}
		limit(&one, o.MaxPending)
		work = append(work, one)
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
	return state, work, []jetstream.StreamConfig{delayed, dead}
}

// limit refuses messages beyond the limit: the server's default deletes the oldest.
func limit(stream *jetstream.StreamConfig, messages int64) {
	if stream.MaxMsgs = messages; messages > 0 {
		stream.Discard = jetstream.DiscardNew
	}
}

func openStream(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig, update bool) (stream jetstream.Stream, err error) {
	look := func() error { stream, err = js.Stream(ctx, config.Name); return err }
	if err = look(); errors.Is(err, jetstream.ErrStreamNotFound) {
		create := config
		create.Replicas = cmp.Or(config.Replicas, 1)
		stream, err = js.CreateStream(ctx, create)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was faster
			err = retryIf(ctx, func(err error) bool { return passes(err) || errors.Is(err, jetstream.ErrStreamNotFound) }, look)
		}
	}
	if errors.Is(err, nats.ErrNoResponders) {
		err = fmt.Errorf("no server answers: is JetStream enabled, and has it a leader? %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: open the stream %s: %w", config.Name, err)
	}
	have := stream.CachedInfo().Config
	if err := errors.Join(
		agree(have.Metadata, config.Metadata),
		differs(config.Name, "retention", have.Retention, config.Retention),
		differs(config.Name, "messages per subject", have.MaxMsgsPerSubject, config.MaxMsgsPerSubject),
		differs(config.Name, "schedules", have.AllowMsgSchedules, config.AllowMsgSchedules),
		differs(config.Name, "lives of messages", have.AllowMsgTTL, config.AllowMsgTTL),
		differs(config.Name, "subjects", fmt.Sprint(have.Subjects), fmt.Sprint(config.Subjects)),
	); err != nil {
		return nil, err
	}
	next, difference := change(have, config)
	if difference == nil || !update {
		return stream, difference
	}
	if stream, err = js.UpdateStream(ctx, next); err != nil {
		return nil, fmt.Errorf("cluster: change the stream %s: %w", config.Name, err)
	}
	return stream, nil
}

// change returns a stream with what want has of that which can be changed, and an
// error that has the differences. What is zero in want stays as it is.
func change(have, want jetstream.StreamConfig) (next jetstream.StreamConfig, difference error) {
	next = have
	note := func(what string, has, wants any) {
		difference = errors.Join(difference, fmt.Errorf("cluster: the stream %s has %s: %v, want %v: "+
			"change the option, or the queue, by Options.Update or shardq-admin", have.Name, what, has, wants))
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

func differs[V comparable](stream, what string, have, want V) error {
	if have == want {
		return nil
	}
	return fmt.Errorf("cluster: the stream %s is configured otherwise: %s: %v, want %v", stream, what, have, want)
}

func agree(have, want map[string]string) (err error) {
	for _, each := range []struct{ option, key string }{
		{"Partitions", partitionsKey}, {"Lease", leaseKey}, {"Values", valuesKey},
	} {
		if want[each.key] != "" && have[each.key] != want[each.key] {
			err = errors.Join(err, fmt.Errorf("cluster: Options.%s is %s: the queue was made with %q",
				each.option, want[each.key], have[each.key]))
		}
	}
	return err
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
	stream, err := js.Stream(ctx, names.Queue(o.Name).StateStream())
	if err != nil {
		return o, fmt.Errorf("cluster: the queue %q: %w", o.Name, err)
	}
	config := stream.CachedInfo().Config
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
