package harness

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Options configure a run.
type Options struct {
	Target Target
	// Command is the command line that runs this target, without the flags of a
	// round.
	Command  string
	Duration time.Duration // 0: until the rounds are over
	Rounds   int           // 0: until the duration is over, and at least one
	Seed     uint64
	Limits   Limits
	// Patience is the time without progress that counts as a hang.
	Patience time.Duration
	// Verbose prints a line for each round, instead of a line now and then.
	Verbose bool
	Out     io.Writer
}

// A Failure is a round that broke a promise.
type Failure struct {
	Plan       Plan
	Violations []Violation
	Again      string // the command that repeats the round
}

func (f *Failure) Error() string {
	text := ""
	for _, v := range f.Violations {
		text += v.String() + "\n"
	}
	return fmt.Sprintf("%sround: %v\nagain: %s", text, f.Plan, f.Again)
}

// Run runs rounds, each with the next seed, until the time is over or a promise
// is broken. A hang ends the process.
func Run(o Options) error {
	run := &run{Options: o, total: newAccount(), begun: time.Now()}
	run.watchdog.patience = o.Patience
	ended := make(chan struct{})
	defer close(ended)
	go run.watchdog.watch(ended, run.onHang)
	run.said = run.begun
	fmt.Fprintln(o.Out, o.introduction())
	for n := 0; run.goesOn(n); n++ {
		if err := run.round(o.Seed + uint64(n)); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.Out, "ok: %s, seeds from %d\n%s\n", o.Target.Name, o.Seed,
		run.total.report(time.Since(run.begun), run.watchdog.peak.Load(), heap()))
	return nil
}

// introduction returns the first line: the target, and what is left out.
func (o Options) introduction() string {
	text := fmt.Sprintf("stress: %s, seeds from %d", o.Target.Name, o.Seed)
	if raceDetector {
		text += ", under the race detector"
	}
	if o.Limits.Ending < 0 && !o.Target.Features.Collected {
		text += "; without rounds of small queues that are dropped, which would leave goroutines (-ending small includes them)"
	}
	return text
}

type run struct {
	Options
	total    *account
	begun    time.Time
	said     time.Time // the time of the last line of progress
	watchdog watchdog
}

func (r *run) goesOn(rounds int) bool {
	switch {
	case rounds == 0:
		return true
	case r.Rounds > 0 && rounds >= r.Rounds:
		return false
	default:
		return r.Duration == 0 || time.Since(r.begun) < r.Duration
	}
}

func (r *run) round(seed uint64) error {
	plan := Draw(seed, r.Limits, r.Target.Features)
	result := plan.run(r.Target, &r.watchdog)
	r.total.add(result.account)
	if len(result.violations) > 0 {
		return &Failure{plan, result.violations, r.again(plan)}
	}
	r.printProgress(plan, result.account)
	return nil
}

// printProgress prints progress.
func (r *run) printProgress(p Plan, a *account) {
	switch {
	case r.Verbose:
		fmt.Fprintf(r.Out, "%v: %d operations, %d runs, %d deduplicated, %d expired\n", p, a.operations, a.gets, a.deduplicated, a.expired)
	case time.Since(r.said) > 5*time.Second:
		r.said = time.Now()
		elapsed := time.Since(r.begun)
		fmt.Fprintf(r.Out, "%8v  %d rounds, %d operations (%.0f/s), %d histories\n", elapsed.Round(time.Second),
			r.total.rounds, r.total.operations, float64(r.total.operations)/elapsed.Seconds(), r.total.histories)
	}
}

// onHang ends the process, because a hanging goroutine cannot be stopped.
func (r *run) onHang(hanging *round) {
	r.watchdog.explain(os.Stderr, hanging)
	fmt.Fprintf(os.Stderr, "round: %v\nagain: %s\n", hanging.plan, r.again(hanging.plan))
	os.Exit(1)
}

// again returns the command that repeats a round.
func (r *run) again(p Plan) string {
	text := fmt.Sprintf("%s -seed %d -rounds 1 -adds %d", r.Command, p.Seed, r.Limits.Adds)
	if r.Limits.Shards > 0 {
		text += fmt.Sprintf(" -shards %d", r.Limits.Shards)
	}
	if r.Limits.Mix != All {
		text += fmt.Sprintf(" -mix %v", r.Limits.Mix)
	}
	if r.Limits.Ending >= 0 {
		text += fmt.Sprintf(" -ending %v", r.Limits.Ending)
	}
	if r.Limits.Provoke {
		text += " -provoke"
	}
	return text
}
