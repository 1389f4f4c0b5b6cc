package harness

import (
	"bytes"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/testscale"
)

var anything = Limits{Adds: 1000, Mix: All, Ending: -1}

// TestShortRun runs small rounds as the command does.
func TestShortRun(t *testing.T) {
	var out strings.Builder
	err := Run(Options{
		Target: Shardq(), Command: "stress", Duration: time.Hour, Rounds: testscale.N(150), Seed: 1,
		Limits: anything, Patience: time.Minute, Verbose: true, Out: &out,
	})
	require.NoError(t, err, "%s", &out)
	require.Contains(t, out.String(), "ok: shardq, seeds from 1")
}

func TestDrawIsRepeatable(t *testing.T) {
	features := Shardq().Features
	endings, items, processors := map[Ending]bool{}, map[Items]bool{}, map[int]bool{}
	for seed := range uint64(300) {
		p := Draw(seed, anything, features)
		require.Equal(t, p, Draw(seed, anything, features))
		endings[p.Ending], items[p.Items], processors[p.Processors] = true, true, true
	}
	require.Len(t, endings, int(endingCount))
	require.Len(t, items, int(itemTypes))
	require.Equal(t, map[int]bool{1: true, 2: true, 8: true}, processors)
}

func TestDrawFollowsLimitsAndFeatures(t *testing.T) {
	for seed := range uint64(300) {
		p := Draw(seed, Limits{Adds: 100, Shards: 5, Mix: Delays | NaN, Ending: Storm}, Shardq().Features)
		require.Equal(t, 5, p.Shards)
		require.Equal(t, Storm, p.Ending)
		require.Zero(t, p.Mix&^(Delays|NaN))
		p = Draw(seed, anything, Features{})
		require.Equal(t, 1, p.Shards)
		require.False(t, p.Cancel || p.Grouped || p.Mix.Has(Steps) || p.Mix.Has(Panics))
		require.Zero(t, p.Mix&control)
		require.NotEqual(t, DrainContext, p.Ending)
		require.False(t, p.Strict || p.EndsEarly || p.Capacity > 0)
	}
}

func TestParse(t *testing.T) {
	set, err := ParseIngredients("delays,nan")
	require.NoError(t, err)
	require.Equal(t, Delays|NaN, set)
	require.Equal(t, "delays,nan", set.String())
	again, err := ParseIngredients(All.String())
	require.NoError(t, err)
	require.Equal(t, All, again)
	_, err = ParseIngredients("delays,salt")
	require.ErrorContains(t, err, `no ingredient is called "salt"`)
	for e := range endingCount {
		parsed, err := ParseEnding(e.String())
		require.NoError(t, err)
		require.Equal(t, e, parsed)
	}
	_, err = ParseEnding("happy")
	require.Error(t, err)
}

func TestCommandLine(t *testing.T) {
	other := Shardq()
	other.Name = "other"
	c := Command{Package: "./stress", Targets: []Target{Shardq(), other},
		Regressions: "# none\n\n-seed 7 -rounds 1 -adds 100 # was slow\n-target other -seed 8 -rounds 1 -adds 100\n"}
	for _, test := range []struct {
		arguments string
		code      int
		says      string
	}{
		{"-rounds 2 -adds 100 -duration 1h -v", 0, "\n2 rounds in"},
		{"-rounds 2 -adds 100 -duration 1ns", 0, "\n1 rounds in"},
		{"-adds 100 -duration 1ns", 0, "\n1 rounds in"},
		{"-adds 100 -duration 1ns -target other", 0, "stress: other, seeds from 1"},
		{"-survey -mix none", 2, "want only one of them"},
		{"-survey -ending rest", 2, "want only one of them"},
		{"-survey -duration 1s", 2, "want only one of them"},
		{"-help", 0, "time during which new rounds start"},
		{"-rounds 1 surplus", 2, "want flags only"},
		{"-adds 1", 2, "-adds of at least 10"},
		{"-shards -1 -ending happy -mix salt", 2, "no ingredient"},
		{"-duration 0s", 2, "above 0"},
		{"-target unknown", 2, "want one of shardq"},
		{"-no-such-flag", 2, "not defined"},
	} {
		var out, errs bytes.Buffer
		code := c.Main(strings.Fields(test.arguments), &out, &errs)
		require.Equal(t, test.code, code, "%s: %s %s", test.arguments, &out, &errs)
		require.Contains(t, out.String()+errs.String(), test.says)
	}
	for _, line := range []string{"-seed x", "-target unknown", "-survey"} {
		c.Regressions = line
		require.Equal(t, 1, c.Main([]string{"-duration", "1ms"}, &bytes.Buffer{}, &bytes.Buffer{}), line)
	}
}

// TestRegressionsOfATarget checks that regressions run only for their target.
func TestRegressionsOfATarget(t *testing.T) {
	shorten(t, &grace)
	c := Command{Package: "./stress", Targets: []Target{Shardq(), saboteur(isShuttingDown)},
		Regressions: "-target saboteur -seed 1 -rounds 30 -adds 100\n"}
	run := func(target string) (code int, errs string) {
		var text bytes.Buffer
		code = c.Main([]string{"-target", target, "-duration", "1ns", "-adds", "100"}, &bytes.Buffer{}, &text)
		return code, text.String()
	}
	code, errs := run("shardq")
	require.Zero(t, code, errs)
	code, errs = run("saboteur")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "regression \"-target saboteur")
}

func TestRoundsWithoutADurationAreAllRun(t *testing.T) {
	c := Command{Targets: []Target{Shardq()}}
	for arguments, want := range map[string]time.Duration{
		"": defaultDuration, "-rounds 5": 0, "-rounds 5 -duration 1s": time.Second, "-duration 2s": 2 * time.Second,
	} {
		p, err := c.parse(strings.Fields(arguments), io.Discard, io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, p.Duration, arguments)
	}
}

// TestSmallQueuesAreLeftOut checks that rounds that would leave goroutines are
// left out, unless they are requested.
func TestSmallQueuesAreLeftOut(t *testing.T) {
	for seed := range uint64(300) {
		p := Draw(seed, anything, Features{})
		require.NotEqual(t, Small, p.Ending)
		p = Draw(seed, Limits{Adds: 100, Mix: All, Ending: Small}, Features{})
		require.Equal(t, Small, p.Ending)
	}
	all := Options{Target: Target{Name: "other"}, Limits: anything}
	require.Contains(t, all.introduction(), "without rounds of small queues")
	all.Target = Shardq()
	require.NotContains(t, all.introduction(), "without")
}

// TestLine checks that the command that repeats a round has the same build
// flags, and names its target.
func TestLine(t *testing.T) {
	race := ""
	if raceDetector {
		race = " -race"
	}
	require.Equal(t, "go run"+race+" ./stress -target shardq", Command{Package: "./stress"}.line("shardq"))
	require.Equal(t, "go run -C bench/compare"+race+" ./cmd/stress -target client-go",
		Command{Module: "bench/compare", Package: "./cmd/stress"}.line("client-go"))
}

func TestDataRacesAreCounted(t *testing.T) {
	require.Nil(t, dataRaces(2, 2))
	require.Equal(t, "data race violated: the race detector has reported 3; see above", dataRaces(2, 5).String())
}

func TestLeftOver(t *testing.T) {
	require.Nil(t, leftOver(1<<20, 1<<20+mostLeft))
	require.Nil(t, leftOver(1<<20, 0))
	require.Equal(t, "C8", leftOver(1<<20, 1<<20+mostLeft+1).Clause)
}

// TestMostKept checks the memory limit: in one of four rounds, for few shards,
// that of C8, and otherwise less than 8 KiB for each shard.
func TestMostKept(t *testing.T) {
	for _, test := range []struct {
		seed   uint64
		shards int
		cells  int64 // for each shard
	}{{4, 1, 0}, {4, 16, 0}, {4, 32, 32}, {4, 100, 100}, {4, 4096, 128}, {5, 1, 128}, {6, 100, 128}} {
		r := &round{plan: Plan{Seed: test.seed, Shards: test.shards}, fresh: 1000}
		require.Equal(t, 2000+keptConstant+test.cells*bytesPerCell*int64(test.shards), r.mostKept(), "%+v", test)
	}
	with := &round{plan: Plan{Seed: 4, Shards: 16, Mix: Groups}, fresh: 1000}
	require.Equal(t, int64(2000+keptConstant+16*fewestCells*bytesPerGroup), with.mostKept())
}

func TestDisagreement(t *testing.T) {
	// Of ten immediate adds and three delayed ones, of which one joined
	// another:
	right := shardq.Stats{Added: 8, Deduplicated: 3, Expired: 2, Dropped: 1}
	a := &account{asked: asked{immediate: 10, sure: 9, deferred: 3, delayedGets: 2}}
	require.Empty(t, a.disagreement(right, false))
	for name, wrong := range map[string]func(*shardq.Stats){
		"Added":                          func(s *shardq.Stats) { s.Added++ },
		"Deduplicated":                   func(s *shardq.Stats) { s.Deduplicated-- },
		"Dropped":                        func(s *shardq.Stats) { s.Dropped++ },
		"more delays":                    func(s *shardq.Stats) { s.Expired = 4 },
		"fewer delays":                   func(s *shardq.Stats) { s.Expired = 1 },
		"not every delay":                func(s *shardq.Stats) { s.Added, s.Deduplicated = 1, 0 },
		"Added + Deduplicated - Expired": func(s *shardq.Stats) { s.Added, s.Dropped = 7, 2 },
	} {
		s := right
		wrong(&s)
		require.NotEmpty(t, a.disagreement(s, name == "Added + Deduplicated - Expired"), name)
	}
	require.Empty(t, a.disagreement(shardq.Stats{Added: 8, Deduplicated: 3, Expired: 2, Dropped: 2}, true), "one that was delayed")
	require.NotEmpty(t, a.disagreement(shardq.Stats{Added: 8, Deduplicated: 3, Expired: 2, Dropped: 3}, true))
	require.NotEmpty(t, a.disagreement(shardq.Stats{Added: 8, Deduplicated: 3, Expired: 2, Dropped: 0}, true))
}

// TestFailureHasAllDetails checks that a failure has the clause, the history,
// and the command that repeats it.
func TestFailureHasAllDetails(t *testing.T) {
	err := Run(Options{
		Target: saboteur(handOutTwice), Command: "go run ./stress", Duration: time.Hour, Rounds: 60, Seed: 1,
		Limits: Limits{Adds: 5000, Mix: 0, Ending: Drain}, Patience: time.Minute, Out: &bytes.Buffer{},
	})
	require.Error(t, err)
	require.Regexp(t, `C\d+ violated`, err.Error())
	require.Regexp(t, `again: go run ./stress -seed \d+ -rounds 1 -adds 5000 -mix none -ending drain`, err.Error())
}

// TestHistoryIsKept checks that all events of a watched key are kept, and the
// latest of others.
func TestHistoryIsKept(t *testing.T) {
	var r recorder
	for n := range int64(mostLatest + 10) {
		r.record(event{operation: opAdd, key: 1, call: n})
		require.LessOrEqual(t, r.completeFrom(), max(0, n-mostLatest+1))
		r.record(event{operation: opAdd, key: 4, call: n})
	}
	ofKey := func(key int32) []event {
		return eventsOf([]*recorder{&r}, func(e event) bool { return e.key == key })
	}
	require.Len(t, ofKey(1), mostLatest+10)
	require.Len(t, ofKey(4), mostLatest)
	require.Equal(t, int64(10), ofKey(4)[0].call)
	require.Equal(t, int64(10), r.completeFrom())
}

// TestHistoryThatBreaksNoRule checks that such a history is shown from its end.
func TestHistoryThatBreaksNoRule(t *testing.T) {
	plan := Draw(1, Limits{Adds: 2000, Ending: Drain}, Shardq().Features)
	plan.Ledger, plan.Choice, plan.Keys = true, Uniform, 16
	r := newRound(plan, Shardq(), &atomic.Uint64{})
	r.play(Shardq())
	v := Violation{Clause: "C1", Key: 4}
	r.explain(&v)
	require.Contains(t, v.History, "the last operations on key 4:\n")
	require.Contains(t, v.History, "Done(4)\n")
	require.LessOrEqual(t, strings.Count(v.History, "\n"), 1+mostShown)
	none := Violation{Clause: "C1", Key: -1}
	r.explain(&none)
	require.Empty(t, none.History)
}

// calls makes a history of consecutive calls.
func calls(operations ...operation) (history []event) {
	for i, o := range operations {
		history = append(history, event{operation: o, key: 1, call: int64(10 * i), end: int64(10*i + 5)})
	}
	return history
}

// canceled makes a history like calls, in which each Cancel has a result.
func canceled(was shardq.Canceled, operations ...operation) []event {
	history := calls(operations...)
	for i := range history {
		if history[i].operation == opCancel {
			history[i].was = was
		}
	}
	return history
}

func TestHistories(t *testing.T) {
	for _, test := range []struct {
		name    string
		history []event
		legal   bool
	}{
		{"a cycle", calls(opAdd, opGet, opDone, opRest), true},
		{"a dirty cycle", calls(opAdd, opGet, opAdd, opAdd, opDone, opGet, opDone, opRest), true},
		{"adds are deduplicated", calls(opAdd, opAdd, opGet, opDone, opRest), true},
		{"a lost add", calls(opAdd, opGet, opAdd, opDone, opRest), false},
		{"handed out twice", calls(opAdd, opGet, opGet), false},
		{"handed out from nowhere", calls(opGet), false},
		{"a deduplicated add that runs twice", calls(opAdd, opAdd, opGet, opDone, opGet), false},
		{"a second Done", calls(opAdd, opGet, opDone, opDone, opRest), true},
		{"a Done of a ready item", calls(opAdd, opDone, opGet, opDone, opRest), true},
		{"never Done", calls(opAdd, opGet, opRest), false},
		{"a delay that expires", calls(opAddAfter, opGet, opDone, opRest), true},
		{"a delay that is overtaken", calls(opAddAfter, opAdd, opGet, opDone, opRest), true},
		{"one delay, two runs", calls(opAddAfter, opGet, opDone, opGet), false},
		{"shutdown with something ready", calls(opAdd, opGetNothing), false},
		{"a Cancel that took nothing", calls(opCancel, opAdd, opGet, opCancel, opDone, opRest), true},
		{"a Cancel that did not say what it took", calls(opAdd, opCancel, opRest), false},
		{"a Cancel of what is ready", canceled(shardq.Canceled{Ready: true}, opAdd, opCancel, opRest), true},
		{"what was canceled runs", canceled(shardq.Canceled{Ready: true}, opAdd, opCancel, opGet), false},
		{"a Cancel of what is dirty", canceled(shardq.Canceled{Dirty: true}, opAdd, opGet, opAdd, opCancel, opDone, opRest), true},
		{"a Cancel that says dirty for ready", canceled(shardq.Canceled{Dirty: true}, opAdd, opCancel, opRest), false},
		{"shutdown while processing", calls(opAdd, opGet, opGetNothing, opDone, opRest), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := porcupine.Illegal
			if test.legal {
				want = porcupine.Ok
			}
			require.Equal(t, want, check(fromIdle, test.history))
		})
	}
}

func TestHistoryOfADelayThatIsNotOver(t *testing.T) {
	early := calls(opAddAfter, opGet)
	early[0].delay = 100 // the Get ends at 15
	require.Equal(t, porcupine.Illegal, check(fromIdle, early))
	early[0].stepped = true
	require.Equal(t, porcupine.Ok, check(fromIdle, early))
}

func TestHistoryWithUncertainCalls(t *testing.T) {
	dropped := calls(opAdd, opRest)
	require.Equal(t, porcupine.Illegal, check(fromIdle, dropped))
	dropped[0].unsure = true
	require.Equal(t, porcupine.Ok, check(fromIdle, dropped))
}

// TestMinimise checks that the rest of a long history is wrong, and is wrong by
// itself.
func TestMinimise(t *testing.T) {
	var operations []operation
	for range 50 {
		operations = append(operations, opAdd, opGet, opDone)
	}
	operations = append(operations, opAdd, opGet, opGet) // wrong
	for range 50 {
		operations = append(operations, opDone, opAdd, opGet)
	}
	wrong := minimise(calls(operations...))
	require.Len(t, wrong, 2)
	require.Equal(t, opGet, wrong[1].operation)
	require.Equal(t, "C3", clauseOf(wrong[1]))
	require.Equal(t, "C2", clauseOf(event{operation: opRest}))
	require.Equal(t, "C10", clauseOf(event{operation: opGetNothing}))
}

// TestMinimiseLeavesOut checks that irrelevant calls in the middle are left
// out, where nothing can be cut off.
func TestMinimiseLeavesOut(t *testing.T) {
	operations := []operation{opAddAfter} // not yet expired, so that no call is after all others
	for range 20 {
		operations = append(operations, opAdd, opGet, opAdd, opDone, opGet, opDone)
	}
	history := calls(append(operations, opGet, opDone)...)
	history[0].delay = time.Hour
	wrong := minimise(history)
	require.LessOrEqual(t, len(wrong), 2)
	require.Equal(t, history[len(history)-2], wrong[len(wrong)-1])
	require.Equal(t, porcupine.Illegal, check(fromIdle, wrong))
}

func TestLatenessQuantiles(t *testing.T) {
	var l lateness
	for n := range 1000 {
		l.add(time.Duration(n) * time.Microsecond)
	}
	require.InEpsilon(t, 500*time.Microsecond, l.quantile(0.5), 0.13)
	require.InEpsilon(t, 990*time.Microsecond, l.quantile(0.99), 0.13)
	require.Equal(t, uint64(999*time.Microsecond), l.longest.Load())
	for n := range uint64(10_000) {
		bucket := bucketOf(n)
		require.LessOrEqual(t, lowest(bucket), n)
		require.Greater(t, lowest(bucket+1), n)
	}
	require.Less(t, bucketOf(math.MaxUint64), len(l.buckets))
}

// TestWatchdog checks that the watchdog reports a hang, also of a queue whose
// methods hang.
func TestWatchdog(t *testing.T) {
	w := &watchdog{patience: time.Millisecond}
	p := Draw(1, Limits{Adds: 100, Ending: Drain}, Shardq().Features)
	p.Ledger = true
	r := newRound(p, Shardq(), &w.progress)
	r.queue.Add(1)
	w.current.Store(r)
	hanging := make(chan *round, 1)
	w.watch(make(chan struct{}), func(r *round) { hanging <- r })
	var text strings.Builder
	w.explain(&text, <-hanging)
	require.Contains(t, text.String(), "C4 violated")
	require.Contains(t, text.String(), "TestWatchdog", "the goroutines are listed")
	require.Contains(t, text.String(), "Ready:1")
	r.queue.ShutDown()
	w.explain(&text, r)
	require.Contains(t, text.String(), "C12 violated")
}

func TestSurveyReads(t *testing.T) {
	for said, want := range map[string]string{
		"C12 violated: a drain\nround: …":           "C12",
		"some\n\tC4 violated: nothing\n":            "C4",
		"panic: limiter [recovered]\n\ngoroutine 1": "C17",
		"fatal error: all goroutines are asleep":    "C17",
		"":                                          unexplained,
	} {
		clause, _ := deathOf(said, "signal: killed")
		require.Equal(t, want, clause, said)
	}
	_, message := deathOf("", "signal: killed")
	require.Equal(t, "the process ended: signal: killed", message)
}

// TestSurveyReportsTheDeathOfAChild uses this test program as the child, which
// does not know the flags.
func TestSurveyReportsTheDeathOfAChild(t *testing.T) {
	clause, message, err := Options{Target: Shardq(), Patience: time.Minute}.child(themes[0], 1)
	require.NoError(t, err)
	require.Equal(t, unexplained, clause)
	require.Equal(t, "the process ended: exit status 2", message)
}

func TestSurveyUsesFlags(t *testing.T) {
	c := Command{Targets: []Target{Shardq()}}
	p, err := c.parse(strings.Fields("-survey -rounds 3 -shards 5 -patience 7s -adds 99"), io.Discard, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 3, p.Rounds)
	flags := strings.Join(p.childFlags(themes[0], 8), " ")
	for _, want := range []string{"-shards 5", "-patience 7s", "-adds 99", "-seed 8", "-rounds 1"} {
		require.Contains(t, flags, want)
	}
	p, err = c.parse([]string{"-survey"}, io.Discard, io.Discard)
	require.NoError(t, err)
	require.Equal(t, surveyRounds, p.Rounds)
	require.Equal(t, surveyPatience, p.Patience)
}

func TestVerdict(t *testing.T) {
	v := verdict{rounds: 4, broken: map[string]int{}, says: map[string]string{}}
	var out strings.Builder
	v.print(&out, "quiet")
	for _, clause := range []string{"C2", "", "C1", "C2"} {
		v.add(clause, "of "+clause)
	}
	v.print(&out, "storm")
	require.Equal(t, "| quiet | 4 | nothing |  |\n| storm | 4 | C1 in 1, C2 in 2 | of C1; of C2 |\n", out.String())
}
