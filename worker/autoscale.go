package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An Autoscaler sizes a [Pool] by its load. It is made by [NewAutoscaler], and
// works while [Autoscaler.Run] runs.
//
// # What it asks for
//
// Two figures say how many workers are needed, and the greater number counts:
//
//   - The workers that are busy, divided by TargetUtilization. The average of
//     the last samples counts, so that chance moves it little.
//   - While the oldest ready item is older than TargetAge, and half of the
//     workers or more are busy (others would not help it): the number of
//     workers times that age divided by TargetAge, but no more than there are
//     busy workers and ready items. If the age has fallen since the last
//     sample, the workers catch up, and as many as there are suffice.
//
// Items that more workers could not serve do not count: those of a throttled
// group, and those of a queue that is paused or whose rate is reached.
//
// A number within Tolerance of the present one changes nothing. A greater one
// counts at once, but a sample adds at most as many workers as there are, or
// four. A smaller one counts when every sample has asked for fewer for
// ScaleDownDelay. Then the greatest number that they asked for counts.
//
// This is the algorithm of Kubernetes' HorizontalPodAutoscaler: the ratio, the
// tolerance, the greatest of several figures, the limit of growth, and the
// stabilization window.
type Autoscaler[T any] struct {
	pool   *Pool[T]
	source LoadSource
	hook   func(Resize)
	every  time.Duration
	scaler scaler
}

// A LoadSource is a [Source] that knows its load. A queue and a Coalescer are
// such sources. A source of your own needs the method if an Autoscaler sizes
// its pool.
type LoadSource interface {
	// Load returns the present load. The Autoscaler calls it once in an
	// interval, with no lock held.
	Load() Load
}

// A Load is how much a source has to do.
type Load struct {
	// Ready is the number of ready items that more workers would get at once.
	// It leaves out those that they could not have, such as items of a group
	// that is throttled. Processing is the number of items that workers have,
	// of all pools of the source.
	Ready, Processing int
	// Oldest is how long the oldest of the Ready items has been ready.
	Oldest time.Duration
	// Ages reports that the source knows Oldest. A queue does with its option
	// Ages, and a Coalescer with that of its queue.
	Ages bool
}

// AutoscaleOptions configure an [Autoscaler]. [NewAutoscaler] reads them once.
// All times are real time, whatever the queue's clock is.
type AutoscaleOptions struct {
	// Min and Max bound the number of workers: 1 <= Min <= Max. The Autoscaler
	// brings the pool within them, and ignores [Options].Workers apart from
	// that.
	Min, Max int

	// TargetAge is how old a ready item may become before there must be more
	// workers. The source must know its ages.
	//
	// If zero, only the utilization counts.
	TargetAge time.Duration

	// TargetUtilization is the part of the workers that is busy when their
	// number is right, more than 0 and at most 1.
	//
	// If zero, it is 0.7.
	TargetUtilization float64

	// Tolerance is the part of the present number by which the number asked
	// for may differ without an effect, less than 1.
	//
	// If zero, it is 0.1.
	Tolerance float64

	// ScaleDownDelay is how long every sample must ask for fewer workers before
	// some leave.
	//
	// If zero, it is a minute.
	ScaleDownDelay time.Duration

	// Interval is the time between two samples.
	//
	// If zero, it is a second.
	Interval time.Duration

	// OnResize is called after each change of the number, in the goroutine of
	// Run, for logs and metrics. It may use the pool and the source.
	OnResize func(Resize)
}

// A Resize is a change of the number of workers: see
// [AutoscaleOptions].OnResize.
type Resize struct {
	// From and To are the numbers of workers before and after.
	From, To int
	// Load is the sample that decided.
	Load Load
}

// NewAutoscaler returns an Autoscaler for pool, or an error that lists every
// fault of the options. The source of the pool must be a [LoadSource]. It
// starts nothing.
func NewAutoscaler[T any](pool *Pool[T], options AutoscaleOptions) (*Autoscaler[T], error) {
	if pool == nil {
		return nil, errors.Join(options.validate(), errors.New("worker: NewAutoscaler was called without a pool"))
	}
	source, is := pool.source.(LoadSource)
	fault := error(nil)
	switch {
	case !is:
		fault = fmt.Errorf("worker: NewAutoscaler was called with a pool of a %T, which has no method Load", pool.source)
	case options.TargetAge > 0 && !source.Load().Ages:
		fault = fmt.Errorf("worker: AutoscaleOptions.TargetAge is %v: want 0, or a source that keeps ages, such as a queue with Options.Ages", options.TargetAge)
	}
	if err := errors.Join(options.validate(), fault); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	return &Autoscaler[T]{
		pool: pool, source: source, hook: options.OnResize, every: options.Interval, scaler: scaler{options: options},
	}, nil
}

// Run samples the load and resizes the pool until ctx ends or the pool has
// ended. It starts no goroutine. The pool may run already, or begin later.
// Another caller may resize the pool meanwhile, and the next sample starts from
// that number. Only one Run of an Autoscaler may be under way.
//
// If Load or OnResize panics, Run panics, and the pool keeps its workers.
func (a *Autoscaler[T]) Run(ctx context.Context) {
	ticker := time.NewTicker(a.every)
	defer ticker.Stop()
	for {
		if ended := a.sample(time.Now()); ended {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sample takes a sample, and resizes the pool if necessary.
func (a *Autoscaler[T]) sample(now time.Time) (ended bool) {
	from, ended := a.pool.asked()
	if ended {
		return true
	}
	load := a.source.Load()
	to := a.scaler.decide(now, from, load)
	if to == from {
		return false
	}
	a.pool.Resize(to)
	if a.hook != nil {
		a.hook(Resize{From: from, To: to, Load: load})
	}
	return false
}

// asked returns the number of workers that the pool was asked for, and whether
// it starts no more.
func (p *Pool[T]) asked() (workers int, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted, p.state >= closing
}

// validate returns one error that names every fault, or nil.
func (o AutoscaleOptions) validate() error {
	var faults []error
	fault := func(isFault bool, format string, arguments ...any) {
		if isFault {
			faults = append(faults, fmt.Errorf("worker: AutoscaleOptions."+format, arguments...))
		}
	}
	fault(o.Min < 1, "Min is %d: want 1 or more", o.Min)
	fault(o.Max < o.Min, "Max is %d: want Min, which is %d, or more", o.Max, o.Min)
	fault(o.TargetAge < 0, "TargetAge is %v: want 0 (none) or more", o.TargetAge)
	fault(!(o.TargetUtilization >= 0 && o.TargetUtilization <= 1),
		"TargetUtilization is %v: want 0 (the default) to 1", o.TargetUtilization)
	fault(!(o.Tolerance >= 0 && o.Tolerance < 1), "Tolerance is %v: want 0 (the default) or more, and less than 1", o.Tolerance)
	fault(o.ScaleDownDelay < 0, "ScaleDownDelay is %v: want 0 (the default) or more", o.ScaleDownDelay)
	fault(o.Interval < 0, "Interval is %v: want 0 (the default) or more", o.Interval)
	return errors.Join(faults...)
}

// withDefaults returns the options with every zero field replaced.
func (o AutoscaleOptions) withDefaults() AutoscaleOptions {
	if o.TargetUtilization == 0 {
		o.TargetUtilization = 0.7
	}
	if o.Tolerance == 0 {
		o.Tolerance = 0.1
	}
	if o.ScaleDownDelay == 0 {
		o.ScaleDownDelay = time.Minute
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	return o
}
