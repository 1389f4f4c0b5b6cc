package faults

import (
	"encoding/json"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// A Step is a point of a handler's run, at which a test can hold the run.
type Step string

const (
	Begins Step = "begins" // the handler was called
	Writes Step = "writes" // it is about to write
	Wrote  Step = "wrote"  // its write was answered, and it is about to return
	// Canceled is no step: the context of the handler has ended.
	Canceled Step = "canceled"
)

// A Request is what a worker's handler tells the sink.
type Request struct {
	Step Step
	Run  Run
}

// A Sink is what the handlers of all processes write to. It keeps the greatest
// epoch of each partition, and refuses writes with a lesser one.
type Sink struct {
	History *History
	// Canceled gets the runs whose contexts have ended before the run.
	Canceled chan Run
	// Unfenced makes it accept all writes: a fault that the checks must find.
	Unfenced bool
	Refused  atomic.Int64 // writes

	listener net.Listener
	mu       sync.Mutex
	epochs   map[int]uint64
	holds    []*Hold
	runs     map[Run]*Run // by what the worker says of them
}

// A Hold stops the next run at a step.
type Hold struct {
	step Step
	// Held gets the run that is stopped, until Release.
	Held    chan Run
	release chan struct{}
}

func (h *Hold) Release() { close(h.release) }

func Listen(history *History) (*Sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Sink{History: history, Canceled: make(chan Run, 10_000), listener: l, epochs: map[int]uint64{}, runs: map[Run]*Run{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s, nil
}

func (s *Sink) Address() string { return s.listener.Addr().String() }
func (s *Sink) Close()          { _ = s.listener.Close() }

// HoldNext stops the next run that comes to a step.
func (s *Sink) HoldNext(step Step) *Hold {
	h := &Hold{step, make(chan Run, 1), make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = append(s.holds, h)
	return h
}

func (s *Sink) serve(c net.Conn) {
	defer c.Close()
	from, to := json.NewDecoder(c), json.NewEncoder(c)
	for {
		var q Request
		if from.Decode(&q) != nil {
			return
		}
		switch q.Step {
		case Begins:
			s.begin(q.Run)
		case Canceled:
			s.Canceled <- q.Run
		}
		if h := s.hold(q.Step); h != nil {
			h.Held <- q.Run
			<-h.release
		}
		if to.Encode(q.Step != Writes || s.write(q.Run)) != nil { // whether it is accepted
			return
		}
	}
}

func (s *Sink) hold(step Step) *Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.holds, func(h *Hold) bool { return h.step == step })
	if i < 0 {
		return nil
	}
	h := s.holds[i]
	s.holds = slices.Delete(s.holds, i, i+1)
	return h
}

func (s *Sink) begin(r Run) {
	noted := s.History.Began(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r] = noted
}

// write accepts the write of a run, unless a later owner of the partition has
// written.
func (s *Sink) write(r Run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Epoch < s.epochs[r.Partition] && !s.Unfenced {
		s.Refused.Add(1)
		return false
	}
	s.epochs[r.Partition] = max(s.epochs[r.Partition], r.Epoch)
	s.History.Wrote(s.runs[r])
	return true
}
