package harness

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

var anything = Limits{Adds: 1000, Mix: All, Ending: -1}

// TestShortRun is a run like those of the command, with small rounds.
func TestShortRun(t *testing.T) {
	rounds := 90
	if testing.Short() {
		rounds = 30
	}
	var out strings.Builder
	err := Run(Options{
		Target: Shardq(), Command: "stress", Duration: time.Hour, Rounds: rounds, Seed: 1,
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

func TestDrawHeedsLimitsAndFeatures(t *testing.T) {
	for seed := range uint64(300) {
		p := Draw(seed, Limits{Adds: 100, Shards: 5, Mix: Delays | NaN, Ending: Storm}, Shardq().Features)
		require.Equal(t, 5, p.Shards)
		require.Equal(t, Storm, p.Ending)
		require.Zero(t, p.Mix&^(Delays|NaN))
		p = Draw(seed, anything, Features{})
		require.Equal(t, 1, p.Shards)
		require.False(t, p.Cancel || p.Grouped || p.Mix.Has(Steps) || p.Mix.Has(Panics))
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
	c := Command{Run: "stress", Targets: []Target{Shardq()}, Regressions: "# none\n\n-seed 7 -rounds 1 -adds 100 # was slow\n"}
	for _, test := range []struct {
		arguments string
		code      int
		says      string
	}{
		{"-rounds 2 -adds 100 -duration 1h -v", 0, ""},
		{"-help", 0, "how long to go on"},
		{"-rounds 1 surplus", 2, "want flags only"},
		{"-adds 1", 2, "-adds of at least 10"},
		{"-shards -1 -ending happy -mix salt", 2, "no ingredient"},
		{"-duration 0s", 2, "above 0"},
		{"-target nobody", 2, "want one of shardq"},
		{"-no-such-flag", 2, "not defined"},
	} {
		var out, errs bytes.Buffer
		code := c.Main(strings.Fields(test.arguments), &out, &errs)
		require.Equal(t, test.code, code, "%s: %s %s", test.arguments, &out, &errs)
		require.Contains(t, out.String()+errs.String(), test.says)
	}
	c.Regressions = "-seed x\n"
	require.Equal(t, 1, c.Main([]string{"-duration", "1ms"}, &bytes.Buffer{}, &bytes.Buffer{}))
}

// TestFailureTellsAll: the clause, the history, and the command that repeats it.
func TestFailureTellsAll(t *testing.T) {
	err := Run(Options{
		Target: saboteur(handOutTwice), Command: "go run ./stress", Duration: time.Hour, Rounds: 60, Seed: 1,
		Limits: Limits{Adds: 5000, Mix: 0, Ending: Drain}, Patience: time.Minute, Out: &bytes.Buffer{},
	})
	require.Error(t, err)
	require.Regexp(t, `C\d+ violated`, err.Error())
	require.Regexp(t, `again: go run ./stress -seed \d+ -rounds 1 -adds 5000 -mix none -ending drain`, err.Error())
}

// TestHistoryIsKept: of a watched key entirely, of others the end.
func TestHistoryIsKept(t *testing.T) {
	plan := Draw(1, Limits{Adds: 2000, Ending: Drain}, Shardq().Features)
	plan.Ledger, plan.Choice, plan.Keys = true, Uniform, 16
	r, _ := plan.run(Shardq(), &watchdog{})
	for _, key := range []int{1, 4} {
		require.Contains(t, r.lastDone(key), "Done\n")
		require.NotContains(t, r.lastDone(key), "shutdown")
	}
	require.Empty(t, r.lastDone(-1))
}

// calls makes a history in which one call follows another.
func calls(operations ...operation) (history []event) {
	for i, o := range operations {
		history = append(history, event{operation: o, key: 1, call: int64(10 * i), end: int64(10*i + 5)})
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
		{"adds merge", calls(opAdd, opAdd, opGet, opDone, opRest), true},
		{"a lost add", calls(opAdd, opGet, opAdd, opDone, opRest), false},
		{"handed out twice", calls(opAdd, opGet, opGet), false},
		{"handed out from nowhere", calls(opGet), false},
		{"a merged add that runs twice", calls(opAdd, opAdd, opGet, opDone, opGet), false},
		{"a second Done", calls(opAdd, opGet, opDone, opDone, opRest), true},
		{"a Done of a ready item", calls(opAdd, opDone, opGet, opDone, opRest), true},
		{"never Done", calls(opAdd, opGet, opRest), false},
		{"a delay that ends", calls(opAddAfter, opGet, opDone, opRest), true},
		{"a delay that is overtaken", calls(opAddAfter, opAdd, opGet, opDone, opRest), true},
		{"one delay, two runs", calls(opAddAfter, opGet, opDone, opGet), false},
		{"shutdown with something ready", calls(opAdd, opGetNothing), false},
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

// TestMinimise: of a long history, what is wrong is left, and is wrong by itself.
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

// TestWatchdog: it barks when nothing happens, and explains even a queue that hangs.
func TestWatchdog(t *testing.T) {
	w := &watchdog{patience: time.Millisecond}
	p := Draw(1, Limits{Adds: 100, Ending: Drain}, Shardq().Features)
	p.Ledger = true
	r := newRound(p, Shardq(), &w.progress)
	r.queue.Add(1)
	w.current.Store(r)
	barked := make(chan *round, 1)
	w.watch(make(chan struct{}), func(r *round) { barked <- r })
	var text strings.Builder
	w.explain(&text, <-barked)
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
		"":                                          "C4",
	} {
		clause, _ := Options{}.read(said)
		require.Equal(t, want, clause, said)
	}
}
