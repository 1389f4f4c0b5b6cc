package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq"
)

// Settings apply to a queue on all nodes, and are stored with the queue.
type Settings struct {
	GroupSettings // of the whole queue
	// Groups are those of Options.Queue.Group, without which a node ignores them.
	Groups map[string]GroupSettings `json:",omitempty"`
}

// GroupSettings are those of a queue or of a group. A pause lets handlers finish.
// Each node has a part of the rate, by its part of the partitions: a group of few
// keys may get less. The rates of the nodes' own options apply as well.
type GroupSettings struct {
	Paused bool        `json:",omitempty"`
	Rate   shardq.Rate // if zero, no limit but that of Options.Queue
}

// Settings returns the settings of the queue.
func (n *Node[K]) Settings(ctx context.Context) (Settings, error) {
	s, _, err := n.readSettings(ctx)
	return s, err
}

func (n *Node[K]) readSettings(ctx context.Context) (s Settings, revision uint64, err error) {
	m, err := n.streams.state.GetLastMsgForSubject(ctx, n.names.Settings())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return s, 0, nil
	}
	if err == nil {
		revision, err = m.Sequence, json.Unmarshal(m.Data, &s)
	}
	if err != nil {
		err = fmt.Errorf("cluster: settings: %w", err)
	}
	return s, revision, err
}

// Change changes the settings, by a function that may be called several times,
// and returns when they are stored. It replaces settings that cannot be read. The
// nodes follow a moment later:
//
//	err := node.Change(ctx, func(s *cluster.Settings) { s.Paused = true })
func (n *Node[K]) Change(ctx context.Context, change func(*Settings)) error {
	for {
		s, revision, err := n.readSettings(ctx)
		switch {
		case err != nil && revision == 0:
			return err
		case err != nil:
			s = Settings{}
		}
		change(&s)
		if err = s.validate(); err != nil {
			return err
		}
		m := nats.NewMsg(n.names.Settings())
		if m.Data, err = json.Marshal(s); err != nil {
			return err
		}
		err = n.publish(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision))
		if !isConflict(err) && !hasCode(err, codeBusy) {
			return err
		}
	}
}

func (s Settings) validate() error {
	err := s.Rate.Validate()
	for name, g := range s.Groups {
		if fault := g.Rate.Validate(); fault != nil {
			err = errors.Join(err, fmt.Errorf("group %q: %w", name, fault))
		}
	}
	if err != nil {
		return fmt.Errorf("cluster: settings: %w", err)
	}
	return nil
}

// applied is what the node's queue has of the settings.
type applied struct {
	mu     sync.Mutex
	groups map[string]GroupSettings
}

// groupPolicy returns the user's policy, with the lesser of both rates.
func (n *Node[K]) groupPolicy(o shardq.Options[K]) func(string) shardq.GroupPolicy {
	if o.Group == nil {
		return o.GroupPolicy // which is a fault, if it is set
	}
	return func(group string) (p shardq.GroupPolicy) {
		if o.GroupPolicy != nil {
			p = o.GroupPolicy(group)
		}
		n.applied.mu.Lock()
		defer n.applied.mu.Unlock()
		p.Rate = lesser(p.Rate, n.applied.groups[group].Rate)
		return p
	}
}

func lesser(a, b shardq.Rate) shardq.Rate {
	if a.PerSecond == 0 || b.PerSecond > 0 && b.PerSecond < a.PerSecond {
		return b
	}
	return a
}

// applySettings is for one goroutine at a time.
func (n *Node[K]) applySettings(ctx context.Context) error {
	s, _, err := n.readSettings(ctx)
	if err != nil {
		return err
	}
	if s.Paused {
		n.queue.Pause()
	} else { // when groups are paused, and rates are set
		defer n.queue.Resume()
	}
	owns := max(1, len(n.partitions())) // keys may come before the next time
	part := float64(owns) / float64(n.options.Partitions)
	n.queue.SetRate(lesser(n.options.Queue.Rate, partOf(s.Rate, part)))
	if n.options.Queue.Group == nil {
		return nil
	}
	now := make(map[string]GroupSettings, len(s.Groups))
	for name, g := range s.Groups {
		now[name] = GroupSettings{g.Paused, partOf(g.Rate, part)}
	}
	n.applied.mu.Lock()
	before := n.applied.groups
	n.applied.groups = now
	n.applied.mu.Unlock()
	for name, g := range now {
		if g != before[name] {
			n.applyGroup(name, g)
		}
		delete(before, name)
	}
	for name := range before {
		n.applyGroup(name, GroupSettings{})
	}
	return nil
}

func (n *Node[K]) applyGroup(name string, g GroupSettings) {
	n.queue.RefreshGroup(name)
	if g.Paused {
		n.queue.PauseGroup(name, time.Time{})
	} else {
		n.queue.ResumeGroup(name)
	}
}

func partOf(r shardq.Rate, part float64) shardq.Rate {
	return shardq.Rate{PerSecond: r.PerSecond * part, Burst: int(float64(r.Burst) * part)}
}
