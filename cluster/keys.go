package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/shardq/shardq/cluster/internal/names"
)

// An Entry is a key that is pending or delayed. With [Options].Values it has one
// value, and each value of the key has an entry.
type Entry[K comparable] struct {
	Key      K
	Value    []byte
	Added    time.Time // when it was last added, by the clock of a server
	Due      time.Time // when its delay ends, or zero if it is pending
	Sequence uint64    // its place in the stream, as [Claim.Sequence] has it, if it is pending
}

// Keys returns the entries of some keys, or those of all, at about the time of
// the call. A key that is in flight is among the pending ones. An entry that
// cannot be read comes with an error that wraps [ErrKey]. After another error
// nothing follows.
func (n *Node[K]) Keys(ctx context.Context, keys ...K) iter.Seq2[Entry[K], error] {
	return func(yield func(Entry[K], error) bool) {
		for _, kind := range []names.Kind{names.Work, names.Delay, names.Due} {
			for m, err := range n.scan(ctx, kind, keys) {
				var e Entry[K]
				if err == nil {
					e, err = n.readEntry(kind, m)
				}
				if !yield(e, err) || err != nil && !errors.Is(err, ErrKey) {
					return
				}
			}
		}
	}
}

func (n *Node[K]) readEntry(kind names.Kind, m *jetstream.RawStreamMsg) (e Entry[K], err error) {
	e = Entry[K]{Value: m.Data, Added: m.Time}
	switch kind {
	case names.Work:
		e.Sequence = m.Sequence
	case names.Delay:
		e.Due, _ = time.Parse(scheduleFormat, m.Header.Get(scheduleHeader))
	default:
		e.Due = m.Time
	}
	e.Key, err = n.keyOf(m.Subject)
	return e, err
}

func (n *Node[K]) keyOf(subject string) (key K, err error) {
	subject, _ = names.SplitID(subject)
	_, _, data, err := names.Parse(subject)
	if err != nil {
		return key, err
	}
	if key, err = n.decode(data); err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrKey, subject, err)
	}
	return key, err
}

// A place is a stream, and a pattern of subjects in it.
type place struct {
	stream  jetstream.Stream
	subject string
}

// everything is the pattern for which the servers need no look at the subjects.
const everything = ">"

// placesOf returns where the messages of a kind are, of the keys or of all.
func (n *Node[K]) placesOf(kind names.Kind, keys []K) (places []place, err error) {
	stream := n.streams.delayed
	if kind == names.Dead {
		stream = n.streams.dead
	}
	switch {
	case len(keys) == 0 && kind == names.Work:
		for _, work := range n.streams.work {
			places = append(places, place{work, everything})
		}
	case len(keys) == 0 && kind == names.Dead:
		places = append(places, place{stream, everything})
	case len(keys) == 0:
		places = append(places, place{stream, n.names.All(kind)})
	}
	for _, key := range keys {
		partition, token, err := n.place(key)
		if err != nil {
			return nil, err
		}
		if kind == names.Work {
			stream = n.streams.work[partition]
		} else if n.options.Values { // each value has an id
			token = names.WithID(token, "*")
		}
		places = append(places, place{stream, n.names.Key(kind, partition, token)})
	}
	return places, nil
}

// scan returns the messages of a kind, of the keys or of all, which were stored
// before the call. The servers find them by subject.
func (n *Node[K]) scan(ctx context.Context, kind names.Kind, keys []K) iter.Seq2[*jetstream.RawStreamMsg, error] {
	return func(yield func(*jetstream.RawStreamMsg, error) bool) {
		places, err := n.placesOf(kind, keys)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, p := range places {
			if !p.scan(ctx, yield) {
				return
			}
		}
	}
}

func (p place) scan(ctx context.Context, yield func(*jetstream.RawStreamMsg, error) bool) (goesOn bool) {
	info, err := p.stream.Info(ctx)
	if err != nil {
		yield(nil, err)
		return false
	}
	for from := uint64(1); from <= info.State.LastSeq; {
		m, err := p.stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(p.subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return true
		}
		if !yield(m, err) || err != nil {
			return false
		}
		from = m.Sequence + 1
	}
	return true
}

// Cancel removes what was pending or delayed of a key before the call, forgets
// its failures, and reports whether there was anything. A node that has taken
// the key hears of it a moment later. A run that has begun goes on, but if it
// fails, it is not repeated.
func (n *Node[K]) Cancel(ctx context.Context, key K) (canceled bool, err error) {
	partition, token, err := n.place(key)
	if err != nil {
		return false, err
	}
	c := cancellation{Subject: n.names.Key(names.Work, partition, token)}
	for _, kind := range []names.Kind{names.Delay, names.Due, names.Work} { // in the order of their ways
		places, err := n.placesOf(kind, []K{key})
		if err != nil {
			return canceled, err
		}
		p := places[0]
		last, err := p.stream.GetLastMsgForSubject(ctx, p.subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err == nil {
			err = p.stream.Purge(ctx, jetstream.WithPurgeSubject(p.subject), jetstream.WithPurgeSequence(last.Sequence+1))
		}
		if err != nil {
			return canceled, fmt.Errorf("cluster: cancel: %w", err)
		}
		if canceled = true; kind == names.Work {
			c.UpTo = last.Sequence
		}
	}
	failures := jetstream.WithPurgeSubject(n.names.Key(names.Failures, partition, token))
	if err = errors.Join(n.streams.state.Purge(ctx, failures), n.sayCanceled(ctx, c)); err != nil {
		err = fmt.Errorf("cluster: cancel: %w", err)
	}
	return canceled, err
}

// A cancellation tells the owner of a key that messages it has taken are gone,
// and its failures forgotten.
type cancellation struct {
	Subject string `json:"subject"`
	UpTo    uint64 `json:"up_to"` // their sequence, or 0
}

func (n *Node[K]) sayCanceled(ctx context.Context, c cancellation) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	m := nats.NewMsg(n.names.Cancel(nuid.Next()))
	m.Data = data
	return n.publish(ctx, m, jetstream.WithMsgTTL(n.options.Lease))
}

func (n *Node[K]) hearCanceled(data []byte) {
	var c cancellation
	if json.Unmarshal(data, &c) != nil {
		return // its time has ended
	}
	partition, _, _, err := names.Parse(c.Subject)
	if err != nil {
		return
	}
	n.mu.Lock()
	p := n.owned[partition]
	n.mu.Unlock()
	if key, err := n.keyOf(c.Subject); p != nil && err == nil {
		for _, m := range p.held.Cancel(key, c.UpTo) {
			_ = m.Message.Ack() // the server counts it until now
		}
		go p.forget(key) // on the servers, too: it may have recorded a failure after the purge
	}
}
