package values

import (
	"context"

	"github.com/shardq/shardq"
)

// settle compares the accounts after all goroutines have ended.
func (r *round) settle() {
	dropped, err := r.target.Drain(context.Background(), shardq.DrainOptions{})
	if err != nil {
		r.found.Add("a drain at the end: %v", err)
	}
	r.drop(dropped)
	for _, p := range r.dropped {
		r.tally.dropped.Add(1)
		r.keys[p.Key].processed = append(r.keys[p.Key].processed, p.Value...)
	}
	for key := range r.keys {
		r.checkKey(key)
	}
	if s := r.target.Stats(); s.Values.Keys != 0 || s.Values.Weight != 0 || s.Held != 0 || s.Misused != 0 {
		r.found.Add("at the end %+v", s)
	}
	if s := r.target.Stats(); s.Values.Put != r.tally.accepted.Load() || s.Values.Merged > s.Values.Put {
		r.found.Add("%d values were put and accepted, not %+v", r.tally.accepted.Load(), s.Values)
	}
	if s := r.target.Stats(); r.bounded && s.Values.OverCapacity != 0 {
		r.found.Add("the capacity was exceeded %d times, though all puts honor it", s.Values.OverCapacity)
	}
}

// checkKey compares the processed values of a key with those that were put.
func (r *round) checkKey(key int) {
	missing := map[stamp]bool{}
	for _, s := range r.keys[key].put {
		missing[s] = true
	}
	for _, s := range r.keys[key].tookBack {
		if !missing[s] {
			r.found.Add("key %d: %v was taken back twice, or was refused", key, s)
		}
		delete(missing, s)
	}
	last := map[int]int{}
	for _, s := range r.keys[key].processed {
		if !missing[s] {
			r.found.Add("key %d: %v was taken twice, or was refused", key, s)
		}
		delete(missing, s)
		if n, known := last[s.producer]; known && n > s.n {
			r.found.Add("key %d: %v was taken after the %d-th of its producer", key, s, n)
		}
		last[s.producer] = s.n
	}
	for s := range missing {
		r.found.Add("key %d: %v is lost", key, s)
	}
}
