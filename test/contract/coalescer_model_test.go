package contract

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"

	"github.com/shardq/shardq/internal/testscale"
)

// A coalescerModel does with maps what a coalescer does for one caller.
type coalescerModel struct {
	pending  map[string]string
	taken    map[string]string
	delayed  map[string]bool // keys whose values are delayed, as far as the model knows
	waiting  map[string]bool // those of them that a PutWith has delayed
	capacity int
	// putEnds is PutEndsBackoff.
	putEnds bool
	// put counts the values that were accepted, and merged those whose key had
	// one.
	put, merged uint64
}

// fits reports whether a value fits into the capacity.
func (m *coalescerModel) fits(key string, weighed bool, value string) bool {
	if m.capacity == 0 {
		return true
	}
	if !weighed {
		_, known := m.pending[key]
		return known || len(m.pending) < m.capacity
	}
	return m.weight() == 0 || m.weight()+len(value) <= m.capacity
}

func (m *coalescerModel) weight() (sum int) {
	for _, value := range m.pending {
		sum += len(value)
	}
	return sum
}

// ready counts the keys that a Take would return.
func (m *coalescerModel) ready() (n int) {
	for key := range m.pending {
		if _, busy := m.taken[key]; !busy && !m.delayed[key] {
			n++
		}
	}
	return n
}

// canceled returns what an Operator reports of a Cancel of a key that no caller
// has taken.
func (m *coalescerModel) canceled(key string) (was shardq.Canceled) {
	if _, known := m.pending[key]; known {
		was.Ready, was.Delayed = !m.delayed[key], m.delayed[key]
	}
	return was
}

// Random calls beside a model of maps, with and without a weight.
func TestCoalescerBehavesAsItsModel(t *testing.T) {
	testscale.Rapid(100)
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) { playCoalescer(rt) })
	})
}

func playCoalescer(rt *rapid.T) {
	weighed := rapid.Bool().Draw(rt, "weighed")
	readable := rapid.Bool().Draw(rt, "Readable")
	m := &coalescerModel{
		pending: map[string]string{}, taken: map[string]string{}, delayed: map[string]bool{},
		waiting:  map[string]bool{},
		capacity: rapid.IntRange(0, 8).Draw(rt, "capacity"),
		putEnds:  rapid.Bool().Draw(rt, "PutEndsBackoff"),
	}
	c := newJoiner(rapid.SampledFrom([]int{1, 2, 16}).Draw(rt, "shards"), capacityOf(m.capacity),
		func(o *coalesce.Options[string, string]) {
			o.Queue.RateLimiter = limiter.NewExponential[string](time.Second, time.Hour)
			o.PutEndsBackoff, o.Readable = m.putEnds, readable
			if weighed {
				weighed := func(v string) int { return len(v) }
				o.Weight = weighed
			}
		})
	defer c.ShutDown()
	operator := c.Controls().Operator()
	ctx := context.Background()
	keys := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	n := 0
	next := func() string { n++; return strconv.Itoa(n) + "." }
	put := func(key, value string) {
		if _, known := m.pending[key]; known {
			m.merged++
		}
		m.put++
		m.pending[key] += value
		if m.putEnds || m.waiting[key] {
			delete(m.delayed, key)
			delete(m.waiting, key)
		}
	}
	drawTaken := func(rt *rapid.T) string {
		key := keys.Draw(rt, "key")
		if _, ok := m.taken[key]; !ok {
			rt.Skip("not taken")
		}
		return key
	}
	accept := func(rt *rapid.T, key, value string) {
		if got := m.pending[key]; got != value || m.delayed[key] {
			rt.Fatalf("took %s: %q, not %q; delayed: %v", key, value, got, m.delayed[key])
		}
		if _, busy := m.taken[key]; busy {
			rt.Fatalf("%s is taken twice", key)
		}
		delete(m.pending, key)
		m.taken[key] = value
	}
	giveBack := func(key string) {
		_, since := m.pending[key]
		m.pending[key] = m.taken[key] + m.pending[key]
		delete(m.taken, key)
		m.delayed[key] = !since || !m.putEnds || m.waiting[key]
		delete(m.waiting, key)
	}
	rt.Repeat(map[string]func(*rapid.T){
		"Put": func(rt *rapid.T) {
			key, value := keys.Draw(rt, "key"), next()
			if err := c.Put(key, value); err != nil {
				rt.Fatal(err)
			}
			put(key, value)
		},
		"PutWith a delay": func(rt *rapid.T) {
			key, value := keys.Draw(rt, "key"), next()
			policy := rapid.SampledFrom([]shardq.DelayPolicy{shardq.KeepEarliest, shardq.KeepLatest, shardq.KeepNew}).Draw(rt, "policy")
			if err := c.PutWith(key, value, coalesce.PutOptions{Delay: time.Hour, Policy: policy}); err != nil {
				rt.Fatal(err)
			}
			_, known := m.pending[key]
			delayed, waiting := m.delayed[key], m.waiting[key]
			put(key, value)
			switch {
			case !known, waiting, delayed && m.putEnds:
				m.delayed[key], m.waiting[key] = true, true
			case delayed:
				m.delayed[key] = true
			}
		},
		"Cancel": func(rt *rapid.T) {
			key := keys.Draw(rt, "key")
			value, ok := c.Cancel(key)
			if want, known := m.pending[key]; ok != known || value != want {
				rt.Fatalf("canceled %q of %s, not %q", value, key, want)
			}
			delete(m.pending, key)
			delete(m.delayed, key)
			delete(m.waiting, key)
		},
		"Cancel of the Operator": func(rt *rapid.T) {
			key := keys.Draw(rt, "key")
			_, busy := m.taken[key]
			was, want := operator.Cancel(key), m.canceled(key)
			if was.Any() != want.Any() || !busy && was.Ready != want.Ready {
				rt.Fatalf("canceled %s as %+v, not %+v; taken: %v", key, was, want, busy)
			}
			delete(m.pending, key)
			delete(m.delayed, key)
			delete(m.waiting, key)
		},
		"RetryNow": func(rt *rapid.T) {
			key := keys.Draw(rt, "key")
			if ended := operator.RetryNow(key); m.delayed[key] && !ended {
				rt.Fatalf("no delay of %s was running", key)
			}
			delete(m.delayed, key)
			delete(m.waiting, key)
		},
		"TryPut": func(rt *rapid.T) {
			key, value := keys.Draw(rt, "key"), next()
			fits := m.fits(key, weighed, value)
			if err := c.TryPut(key, value); (err == nil) != fits {
				rt.Fatalf("%v, though it fits: %v", err, fits)
			}
			if fits {
				put(key, value)
			}
		},
		"Take": func(rt *rapid.T) {
			if m.ready() == 0 {
				rt.Skip("nothing is ready")
			}
			key, value, err := c.Take(ctx)
			if err != nil {
				rt.Fatal(err)
			}
			accept(rt, key, value)
		},
		"TakeBatch": func(rt *rapid.T) {
			if m.ready() == 0 {
				rt.Skip("nothing is ready")
			}
			dst := make([]coalesce.Entry[string, string], rapid.IntRange(1, 5).Draw(rt, "size"))
			n, err := c.TakeBatch(ctx, dst)
			if err != nil || n == 0 {
				rt.Fatal(n, err)
			}
			for _, p := range dst[:n] {
				accept(rt, p.Key, p.Value)
			}
		},
		"Done": func(rt *rapid.T) {
			key := drawTaken(rt)
			c.Done(key)
			delete(m.taken, key)
		},
		"PutBack": func(rt *rapid.T) {
			key := drawTaken(rt)
			if err := c.PutBack(key, m.taken[key]); err != nil {
				rt.Fatal(err)
			}
			giveBack(key)
			delete(m.delayed, key)
		},
		"Retry": func(rt *rapid.T) {
			key := drawTaken(rt)
			if err := c.Retry(key, m.taken[key]); err != nil {
				rt.Fatal(err)
			}
			giveBack(key)
		},
		"pass time": func(*rapid.T) {
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			clear(m.delayed)
			clear(m.waiting)
		},
		"": func(rt *rapid.T) {
			for _, key := range []string{"a", "b", "c", "d"} {
				if want := m.taken[key] + m.pending[key]; readable {
					if value, _ := c.Peek(key); value != want {
						rt.Fatalf("%s has %q, not %q", key, value, want)
					}
				}
			}
			stats := c.Stats()
			weight := len(m.pending)
			if weighed {
				weight = m.weight()
			}
			if stats.Values.Keys != len(m.pending) || c.Len() != stats.Values.Keys || stats.Values.Weight != weight {
				rt.Fatalf("%+v, not %d keys of weight %d", stats, len(m.pending), weight)
			}
			if v := stats.Values; v.Put != m.put || v.Merged != m.merged || v.Capacity != m.capacity {
				rt.Fatalf("%+v, not %d put, %d merged, and a capacity of %d", v, m.put, m.merged, m.capacity)
			}
			if seen := *c.Queue().Stats().Values; seen != *stats.Values {
				rt.Fatalf("the queue says %+v, not %+v", seen, stats.Values)
			}
			if n := c.Queue().Len(); n != m.ready() {
				rt.Fatalf("%d are ready, not %d", n, m.ready())
			}
			if stats.Processing != len(m.taken) {
				rt.Fatalf("%d in processing, not %d", stats.Processing, len(m.taken))
			}
		},
	})
}
