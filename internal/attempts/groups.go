package attempts

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/stats"
)

const (
	stripeCount = 16
	// perStripe limits the groups that a stripe counts.
	perStripe = 64
	// nameBytes limits the length of a group's name.
	nameBytes = 128
)

// groups counts attempts by group. A group belongs to the stripe that its
// name's hash selects.
type groups struct {
	seed    maphash.Seed
	stripes [stripeCount]stripe
}

// A stripe counts the attempts of at most perStripe groups by the algorithm
// Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient computation of
// frequent and top-k elements in data streams", 2005). A new group takes the
// place of the group with the lowest estimate, and inherits that estimate. The
// inherited part is kept apart, so that the counts are never too high.
type stripe struct {
	mu     sync.Mutex // a leaf
	places map[string]int
	counts []stats.GroupAttempts
}

func (g *groups) init() { g.seed = maphash.MakeSeed() }

// RecordGroup counts an attempt at an item of a group.
func (r *Recorder) RecordGroup(group string, result stats.Result) {
	group = keytext.Cut(group, nameBytes)
	r.groups.stripes[maphash.String(r.groups.seed, group)%stripeCount].record(group, result)
}

func (s *stripe) record(group string, result stats.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, counted := s.places[group]
	if !counted {
		place = s.placeFor(strings.Clone(group)) // an item may share its memory
	}
	s.counts[place].Counts[result]++
}

func (s *stripe) placeFor(group string) (place int) {
	if len(s.counts) < perStripe {
		if s.places == nil {
			s.places = make(map[string]int)
		}
		place = len(s.counts)
		s.counts = append(s.counts, stats.GroupAttempts{Group: group})
	} else {
		place = s.lowest()
		out := &s.counts[place]
		delete(s.places, out.Group)
		*out = stats.GroupAttempts{Group: group, Missed: estimate(out)}
	}
	s.places[group] = place
	return place
}

func (s *stripe) lowest() (lowest int) {
	for i := range s.counts {
		if estimate(&s.counts[i]) < estimate(&s.counts[lowest]) {
			lowest = i
		}
	}
	return lowest
}

func estimate(g *stats.GroupAttempts) uint64 { return g.Total() + g.Missed }

// Groups returns at most limit groups, those with the most counted attempts, in
// descending order.
func (r *Recorder) Groups(limit int) []stats.GroupAttempts {
	most := topk.New(limit, byTotal)
	for i := range r.groups.stripes {
		for _, g := range r.groups.stripes[i].copy() {
			most.Add(g)
		}
	}
	return most.Values()
}

func byTotal(a, b stats.GroupAttempts) int {
	return cmp.Or(cmp.Compare(b.Total(), a.Total()), cmp.Compare(a.Group, b.Group))
}

func (s *stripe) copy() []stats.GroupAttempts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.counts)
}
