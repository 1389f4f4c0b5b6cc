package cluster

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// A State is what a node does with a partition.
type State string

const (
	Idle    State = "idle"    // the node does not have it
	Opening State = "opening" // the node has the lease, and is about to read
	Open    State = "open"    // the node reads it, and runs its keys
	Failing State = "failing" // the last attempt has failed, and the next waits
	Leaving State = "leaving" // no run begins, and those in flight may end
)

type event int

const (
	acquired event = iota // the lease
	opened                // messages come
	failed                // the lease was not acquired, or the partition not opened
	broke                 // messages have to be read again
	left                  // it is given back
	gone                  // it was given back, or its lease is lost
)

// transitions are all that can happen. Another event changes nothing, such as
// one that opens a partition which is left by then.
var transitions = map[State]map[event]State{
	Idle:    {acquired: Opening, failed: Failing},
	Opening: {opened: Open, failed: Failing, left: Leaving, gone: Idle},
	Open:    {broke: Opening, left: Leaving, gone: Idle},
	Failing: {acquired: Failing, failed: Failing, opened: Open, left: Leaving, gone: Idle},
	Leaving: {gone: Idle},
}

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
)

// A slot has the state of a partition on this node, under all its leases there,
// or that of the delayed keys.
type slot struct {
	logger *slog.Logger
	what   string

	mu    sync.Mutex
	state State
	since time.Time
	err   error     // the last one, while the state is Failing
	tries int       // in a row
	next  time.Time // when the next may begin
}

func newSlot(logger *slog.Logger, what string) *slot {
	return &slot{logger: logger, what: what, state: Idle}
}

// on changes the state, and logs each change once, however long it lasts.
func (s *slot) on(e event, err error) {
	s.mu.Lock()
	from := s.state
	to, known := transitions[from][e]
	if !known {
		s.mu.Unlock()
		return
	}
	s.err = err
	if from != to {
		s.state, s.since = to, time.Now()
	}
	if e == failed || e == broke {
		s.delayLocked(e)
	}
	s.mu.Unlock()
	if from != to {
		s.log(from, to, err)
	}
}

// delayLocked grows the pause with each try. What begins again for the first
// time does so at once.
func (s *slot) delayLocked(e event) {
	now := time.Now()
	if now.Sub(s.next) > 2*longestPause {
		s.tries = 0
	}
	pause := min(longestPause, firstPause<<min(s.tries, 10))
	if s.tries == 0 && e == broke {
		pause = 0
	}
	s.tries++
	s.next = now.Add(pause/2 + rand.N(pause/2+1))
}

func (s *slot) log(from, to State, err error) {
	switch {
	case to == Failing:
		s.logger.Warn(s.what+" fails, and is tried again", "error", err)
	case to == Idle && err != nil:
		s.logger.Warn(s.what+" is lost", "error", err)
	case to == Open || to == Idle:
		s.logger.Info(s.what+" is "+string(to), "before", from)
	default:
		s.logger.Debug(s.what+" is "+string(to), "before", from)
	}
}

func (s *slot) wait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.next)
}

// A PartitionState is a partition that a node has or tries to have.
type PartitionState struct {
	State State
	Error string    `json:",omitempty"` // of the last attempt, if Failing
	Since time.Time // by the node's clock
}

func (s *slot) read() PartitionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := PartitionState{State: s.state, Since: s.since}
	if s.err != nil {
		p.Error = s.err.Error()
	}
	return p
}
