package worker

import (
	"math"
	"time"
)

// A scaler decides how many workers there should be. It has no clock and no
// pool: see Autoscaler for the algorithm.
type scaler struct {
	options AutoscaleOptions // with their defaults
	state   scalerState
	// busy is the average number of busy workers, and oldest the age in the
	// last sample. sampled reports that there was one.
	busy    float64
	oldest  time.Duration
	sampled bool
	// since is when the samples began to ask for fewer workers, and most is
	// the greatest number that they asked for.
	since time.Time
	most  int
}

// A scalerState is what the last sample asked for.
type scalerState int

const (
	// steady: about as many as there are.
	steady scalerState = iota
	// growing: more.
	growing
	// waiting: fewer, but not yet for long enough.
	waiting
)

// A demand compares the number that a sample asks for with the present one.
type demand int

const (
	same demand = iota
	more
	fewer
	// fewerForLong is fewer at the end of ScaleDownDelay.
	fewerForLong
)

// transitions has what follows a sample: the next state, and what happens to
// the number of workers.
var transitions = [...][4]transition{
	steady:  {same: {steady, keep}, more: {growing, raise}, fewer: {waiting, begin}},
	growing: {same: {steady, keep}, more: {growing, raise}, fewer: {waiting, begin}},
	waiting: {same: {steady, keep}, more: {growing, raise}, fewer: {waiting, keep}, fewerForLong: {steady, lower}},
}

type transition struct {
	next scalerState
	do   action
}

type action int

const (
	keep  action = iota // the number stays
	raise               // to what the sample asks for, in bounded steps
	begin               // the number stays, and the wait begins
	lower               // to the most that was asked for during the wait
)

// decide returns how many workers there should be, of now workers, by a sample
// of the load.
func (s *scaler) decide(now time.Time, workers int, load Load) int {
	want := s.wanted(workers, load)
	asked := int(math.Ceil(min(want, float64(s.options.Max))))
	s.most = max(s.most, asked)
	d := s.demandOf(now, workers, want, asked)
	next := transitions[s.state][d]
	s.state = next.next
	switch next.do {
	case raise:
		workers = min(asked, max(2*workers, workers+4))
	case begin:
		s.since, s.most = now, asked
	case lower:
		workers = min(workers, s.most)
	}
	return min(max(workers, s.options.Min), s.options.Max)
}

// demandOf compares what a sample asks for with the number of workers.
func (s *scaler) demandOf(now time.Time, workers int, want float64, asked int) demand {
	present := float64(workers)
	switch {
	case want > present*(1+s.options.Tolerance) && asked > workers:
		return more
	case want >= present*(1-s.options.Tolerance) || max(asked, s.options.Min) >= workers:
		return same
	case s.state == waiting && now.Sub(s.since) >= s.options.ScaleDownDelay:
		return fewerForLong
	}
	return fewer
}

// smoothing is the weight of the last sample in the average of busy workers.
const smoothing = 0.2

// wanted returns how many workers a sample asks for.
func (s *scaler) wanted(workers int, load Load) float64 {
	busy := float64(min(load.Processing, workers))
	if !s.sampled {
		s.busy = busy
	}
	s.busy += smoothing * (busy - s.busy)
	catchingUp := s.sampled && load.Oldest < s.oldest
	s.oldest, s.sampled = load.Oldest, true
	want := s.busy / s.options.TargetUtilization
	// While most workers are idle, the oldest item does not wait for a worker.
	isScarce := 2*busy >= float64(workers)
	if target := s.options.TargetAge; target > 0 && load.Oldest > target && isScarce {
		byAge := float64(workers)
		if !catchingUp {
			byAge *= float64(load.Oldest) / float64(target)
		}
		// More workers would find nothing. A group with a long backlog leaves
		// its limit for a moment at each Done.
		byAge = min(byAge, busy+float64(load.Ready))
		want = max(want, byAge)
	}
	return want
}
