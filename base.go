package shardq

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/attempts"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// A base is the part of a [Queue] that touches no item, or has items as any. It
// is compiled once, whatever the items are.
type base struct {
	core   *shard.Core // nil if the queue was not made by New
	name   string
	clock  clock.Clock
	above  above
	tokens engine.Tokens

	configuration stats.Configuration
	slots         slots
	log           *eventLog // nil if there is no logger
	endLogged     atomic.Bool
	values        func() *stats.Values // of a coalescer, or else nil
	outcomes      outcomes
	firsts        attempts.Firsts
}

// above is what a base asks of its queue, whose type it does not know.
type above interface {
	groupOf(item any) string
	failures(item any) int // according to the limiter
	limited() int          // the items that the limiter has failures of, or -1 if it does not say
	mostFailed(limit int) []limiter.Failed[any]
}

// init is called before the shards are made, so core is still nil. item points to
// an item.
func (b *base) init(name string, s *shard.Settings, g given, log *eventLog, above above, limiter, item any) {
	b.name, b.clock, b.log, b.above, b.firsts = name, s.Clock, log, above, attempts.NewFirsts()
	b.configuration = configuration(s, g)
	b.configuration.Name, b.configuration.Limiter = name, fmt.Sprintf("%T", limiter)
	b.configuration.Item = reflect.TypeOf(item).Elem().String()
	b.tokens = engine.Tokens{First: uint64(max(0, b.configuration.Created.UnixNano())), Shards: s.Shards}
	b.outcomes.log, b.outcomes.groupOf = log, above.groupOf
	if s.Metrics {
		b.outcomes.attempts = attempts.New()
	}
}

func (b *base) begin(core *shard.Core) {
	b.core = core
	if part := core.ComparedByAddress(); part != "" && b.log != nil {
		b.log.comparedByAddress(b.configuration.Item, part)
	}
}

func (b *base) onStats(values func() *stats.Values) { b.values = values }
