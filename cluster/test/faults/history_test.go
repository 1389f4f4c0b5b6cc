package faults

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// A History is what the producers and the sink saw, by a logical clock.
type History struct {
	mu    sync.Mutex
	clock int64
	adds  []porcupine.Operation
	runs  []*Run
}

// A Run is what the sink saw of a handler's run.
type Run struct {
	Key       string
	Partition int
	Epoch     uint64
	Sequence  uint64 // a run that is repeated has the same
	Process   int
	// began is when the sink heard of the run, and wrote when it accepted its
	// write, or 0.
	began, wrote int64
}

// Now returns a time that is later than all before.
func (h *History) Now() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

// Added notes an add that was called and has returned at these times. One that
// has returned an error may take effect at any time, or never: its end is
// forever.
func (h *History) Added(key string, call, end int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.adds = append(h.adds, operation(added, key, 0, call, end))
}

func (h *History) Began(r Run) *Run {
	r.began = h.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, &r)
	return &r
}

func (h *History) Wrote(r *Run) {
	now := h.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	r.wrote = now
}

// Find returns the first run of a kind, or nil.
func (h *History) Find(is func(*Run) bool) *Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.runs, is); i >= 0 {
		return h.runs[i]
	}
	return nil
}

// A kind is that of an operation on a key, as the model has it.
type kind string

const (
	added kind = "added" // the key is pending
	took  kind = "took"  // a run began: what was pending is in flight
	done  kind = "done"  // the run ended, and its messages were acknowledged
	lost  kind = "lost"  // the run ended, and its messages are pending again
	quiet kind = "quiet" // at the end nothing is pending or in flight
)

type input struct {
	kind kind
	key  string
	run  int // the number of the run, from 1
}

// forever is later than all times.
const forever = int64(1) << 60

func operation(k kind, key string, run int, call, ret int64) porcupine.Operation {
	return porcupine.Operation{Input: input{k, key, run}, Call: call, Return: ret}
}

// operations returns the history as the model reads it. The sink does not see
// the moments at which the owner took the messages of a run, and at which a run
// was lost, so these operations may have happened at any time that is possible.
func (h *History) operations() []porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.adds)
	byKey := map[string][]*Run{}
	for _, add := range h.adds {
		byKey[add.Input.(input).key] = nil
	}
	for _, r := range h.runs {
		byKey[r.Key] = append(byKey[r.Key], r)
	}
	end := h.clock + 1
	for i := range all {
		// The owner hears of an add a moment later. A run may begin meanwhile, and
		// another follows.
		all[i].Return = max(end, all[i].Return)
	}
	for key, runs := range byKey {
		slices.SortFunc(runs, func(a, b *Run) int { return cmp.Compare(a.began, b.began) })
		for i, r := range runs {
			all = append(all, operation(took, key, i+1, 0, r.began))
			// A frozen process can begin a run long after it was lost.
			repeated := slices.ContainsFunc(runs[i+1:], func(later *Run) bool {
				return later.Sequence == r.Sequence && later.Epoch >= r.Epoch
			})
			if r.wrote != 0 && !repeated {
				all = append(all, operation(done, key, i+1, r.wrote, end))
			} else {
				all = append(all, operation(lost, key, i+1, 0, end))
			}
		}
		all = append(all, operation(quiet, key, 0, end+1, end+2))
	}
	for i := range all {
		all[i].ClientId = i
	}
	return all
}

// A state of a key in the model: whether it is pending, and which run it is in.
type state struct {
	pending bool
	run     int
}

// model is a key of a queue that promises exclusion, one more run for an add
// that comes while the key is in flight, and that nothing is lost.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(input).key
			byKey[key] = append(byKey[key], o)
		}
		return slices.Collect(maps.Values(byKey))
	},
	Init: func() any { return state{} },
	Step: func(before, in, _ any) (bool, any) {
		s, o := before.(state), in.(input)
		switch o.kind {
		case added:
			return true, state{true, s.run}
		case took:
			return s.pending && s.run == 0, state{false, o.run}
		case done:
			return s.run == o.run, state{s.pending, 0}
		case lost:
			return s.run == o.run, state{true, 0}
		default:
			return s == state{}, s
		}
	},
}

// Check returns an error unless the history is one that the model allows, and
// no partition had a write of an epoch after one of a later epoch.
func (h *History) Check() error {
	if err := h.checkEpochs(); err != nil {
		return err
	}
	var text string // of three keys at most
	for _, ops := range model.Partition(h.operations()) {
		result := porcupine.CheckOperationsTimeout(model, ops, time.Minute)
		if result == porcupine.Ok || strings.Count(text, "\n") == 3 {
			continue
		}
		slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
		text += fmt.Sprintf("\n%s (%s):", ops[0].Input.(input).key, result)
		for _, o := range ops {
			text += fmt.Sprintf(" %s [%d, %d]", o.Input.(input).kind, o.Call, o.Return)
		}
	}
	if text != "" {
		return errors.New("the history is not one of the promised queue:" + text)
	}
	return nil
}

func (h *History) checkEpochs() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := slices.DeleteFunc(slices.Clone(h.runs), func(r *Run) bool { return r.wrote == 0 })
	slices.SortFunc(written, func(a, b *Run) int { return cmp.Compare(a.wrote, b.wrote) })
	latest := map[int]uint64{}
	for _, r := range written {
		if r.Epoch < latest[r.Partition] {
			return fmt.Errorf("a write of epoch %d to partition %d was accepted after one of epoch %d", r.Epoch, r.Partition, latest[r.Partition])
		}
		latest[r.Partition] = r.Epoch
	}
	return nil
}
