package traces

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests are of the replayer itself: it finds the faults of a trace, and
// names their places.

func parse(t *testing.T, text string) *file {
	t.Helper()
	f, err := parseFile("some.txt", text)
	require.NoError(t, err)
	return f
}

// TestFaultyTracesAreRefused checks that a fault in the text is an error with
// its line.
func TestFaultyTracesAreRefused(t *testing.T) {
	for _, test := range []struct{ text, fault string }{
		{"# nothing", "some.txt:1: no scenario"},
		{"add a", "some.txt:1: a command before the first scenario"},
		{"---", "some.txt:1: want a heading like"},
		{"--- C1", "some.txt:1: want a heading like"},
		{"--- C1: x\nad a", `some.txt:2: unknown command "ad": want one of add, all, await, break`},
		{"--- C1: x\n\n# y\nadd", "some.txt:4: which item? (usage: add ITEM... [after DURATION | rate-limited]\n"},
		{"--- C1: x\nadd a after soon", `some.txt:2: "soon" is no duration: want one like 5s`},
		{"--- C1: x\nadd a b a", "some.txt:2: a is named twice"},
		{"--- C1: x\nadd a3..a1", "some.txt:2: a3..a1 is no range"},
		{"--- C1: x\nadd a1..b3", "some.txt:2: a1..b3 is no range"},
		{"--- C1: x\nget two", `some.txt:2: cannot get "two"`},
		{"--- C1: x\nworker 1: add a", "some.txt:2: an add without a context does not block"},
		{"--- C1: x\n0 times: add a", "some.txt:2: 0 times is never"},
		{"--- C1: x\n2 times: state", "some.txt:2: a state is the same"},
		{"--- C1: x\nworker 1: get all", "some.txt:2: one worker gets one item"},
		{"--- C1: x\nlen a", `some.txt:2: nothing can follow, got "a"`},
		{"--- C1: x\nrequeues a b", "some.txt:2: want one item, got 2"},
		{"--- C1: x\nwhen a", "some.txt:2: the limiter can be asked only if"},
		{"--- C1: x\nbreak limiter", "some.txt:2: the limiter can break only if"},
		{"--- C1: x\nbreak luck", "some.txt:2: want one of limiter, hash, hook, clock"},
		{"--- C1: x\nawait a", "some.txt:2: want an item and a number of gets"},
		{"--- C1: x\nawait a within 2 gets\nget", "some.txt:3: nothing can follow await"},
		{"--- C1: x\nstep", "some.txt:2: how far?"},
		{"--- C1: x\ncancel", "some.txt:2: which item? (usage: cancel worker NAME, or cancel ITEM)"},
		{"--- C1: x\nworker 1: done a", "some.txt:2: a worker makes only calls that may block"},
		{"--- C1: x\nadd a latest within", "some.txt:2: how long?"},
		{"--- C1: x\nadd a latest b", `some.txt:2: cannot add "b"`},
		{"--- C1: x\nadd a b with context", "some.txt:2: one item is added with a context"},
		{"--- C1: x\nget batch", `some.txt:2: cannot get "batch"`},
		{"--- C1: x\nget batch some", `some.txt:2: strconv.Atoi: parsing "some"`},
		{"--- C1: x\nloop", "some.txt:2: which worker?"},
		{"--- C1: x\nworker 1: leave", "some.txt:2: want one of break, return, panic, Goexit"},
		{"--- C1: x\ndrain slowly", `some.txt:2: cannot drain "slowly"`},
		{"--- C1: x\nworker 1: drain", "some.txt:2: a ShutDownWithDrain has no context"},
		{"--- C1: x\nclaim", "some.txt:2: as which claim?"},
		{"--- C1: x\nclaim soon as x", `some.txt:2: cannot claim "soon"`},
		{"--- C1: x\nclaim as x y", "some.txt:2: want one claim, got 2"},
		{"--- C1: x\nend x", "some.txt:2: which claim, and how?"},
		{"--- C1: x\nend x by luck", `some.txt:2: no claim ends by "luck"`},
		{"--- C1: x\nend x by RequeueAfter", "some.txt:2: how far?"},
		{"--- C1: x\ncopy x", "some.txt:2: which claim, and as which?"},
		{"--- C1: x\nvalid", "some.txt:2: which claim?"},
		{"--- C1: x\nfences x", "some.txt:2: want two claims or more"},
		{"--- C1: x\nsnapshot", "some.txt:2: how many of each state?"},
		{"--- C1: x\nall", "some.txt:2: want one of delayed, processing, ready"},
		{"--- C1: x\nwith capacity", `some.txt:2: want a number, got ""`},
		{"--- C1: x\nwith watermarks 1", `some.txt:2: want 2 numbers, got "1"`},
		{"--- C1: x\nwith watermarks low high", "some.txt:2: low is no number"},
		{"--- C1: x\nwith stuck-after lunch", `some.txt:2: "lunch" is no duration`},
		{"--- C1: x\nwith luck", `some.txt:2: no setting "luck": want one of`},
		{"--- C1: x\nwith shards none", "some.txt:2: none is no number of shards"},
		{"--- C1: x\nwith shards", "some.txt:2: with how many shards?"},
		{"--- C1: x\nwith tick tack", `some.txt:2: "tack" is no duration`},
		{"--- C1: x\nwith items word", `some.txt:2: no items of type "word"`},
		{"--- C1: x\nwith items int\nadd a", "some.txt:3: a is no item of a queue of int"},
		{"--- C1: x\nwith limiter strict", `some.txt:2: no limiter "strict": want one of`},
		{"--- C1: x\nwith limiter exponential 1s", `some.txt:2: "" is no duration`},
		{"--- C1: x\nadd a\nwith tick 1s", `some.txt:3: "with" has to come before the first command`},
		{"--- C1: x\ntogether a\nwith items int", `some.txt:3: "with" has to come before "together"`},
		{"--- C1: x\ntogether a b\ntogether b c", "some.txt:3: b is together with others already"},
		{"--- C1: x\n  ready: a", "some.txt:2: an indented line that follows no command"},
	} {
		_, err := parseFile("some.txt", test.text)
		require.ErrorContains(t, err, test.fault, "%s", test.text)
	}
}

// TestImpossibleScenariosAreRefused checks that a scenario is an error, with
// its line, if it cannot be replayed or if the contract leaves its outcome
// open.
func TestImpossibleScenariosAreRefused(t *testing.T) {
	for _, test := range []struct{ text, fault string }{
		{"--- C1: x\nwith shards 5000", "some.txt:1: shardq: Options.Shards is 5000"},
		{"--- C1: x\nend x by Done", "some.txt:2: there is no claim x"},
		{"--- C1: x\nadd a b\nclaim at once as x", "some.txt:3: which item Get returns is open"},
		{"--- C1: x\nadd a b\nget", "some.txt:3: which item Get returns is open"},
		{"--- C1: x\nget\nadd a b", "some.txt:3: which item the worker gets is open"},
		{"--- C1: x\nmend clock", "some.txt:2: the clock is not broken"},
		{"--- C1: x\ncancel worker 1", "some.txt:2: worker 1 does not wait in a call with a context"},
		{"--- C1: x\nadd a b\nget batch 1", "some.txt:3: which item Get returns is open"},
		{"--- C1: x\nworker 1: next", "some.txt:2: worker 1 is at no item of a loop"},
		{"--- C1: x\nwith watermarks 2 1\nadd a", "some.txt:1: shardq: Options.Watermarks has Low 2 and High 1"},
	} {
		s := parse(t, test.text).scenarios[0]
		_, err := s.replay(t, s.layouts()[0])
		require.ErrorContains(t, err, test.fault, "%s", test.text)
		require.ErrorContains(t, parse(t, test.text).update(t), test.fault, "nor is it updated")
	}
}

// TestWrongExpectationsAreFound checks that a wrong expectation fails, and that
// the failure shows the difference.
func TestWrongExpectationsAreFound(t *testing.T) {
	for _, test := range []struct{ text, failure string }{
		{
			"--- C1: x\nadd a\nget → b",
			"some.txt:3: get\n\texpected → b\n\tgot      → a\n",
		},
		{
			"--- C1: x\nget → a",
			"some.txt:2: get\n\texpected → a\n\tgot      → parks\n",
		},
		{
			"--- C1: x\nadd a → worker 1 gets a",
			"some.txt:2: add a\n\texpected → worker 1 gets a\n\tgot      → nothing\n",
		},
		{
			"--- C1: x\ndone a",
			"some.txt:2: done a\n\texpected → nothing\n\tgot      → misuse: Done without Get: a\n",
		},
		{
			"--- C1: x\nadd a after 5s\nstate\n  ready: a\n  delayed: a in 4s",
			"some.txt:3: state\n\t- ready: a\n\t- delayed: a in 4s\n\t+ delayed: a in 5s\n",
		},
		{
			"--- C1: x\nadd a\nadd b after 5s\nstate → idle\n  delayed: b in 5s\n  counts: added 2",
			"some.txt:4: state\n\texpected → idle\n\tgot      → nothing\n" +
				"\t  delayed: b in 5s\n\t- counts: added 2\n\t+ ready: a\n\t+ counts: added 1\n",
		},
		{
			"--- C1: x\ntogether a b\nadd a b\nget all → b a",
			"some.txt:4: get all\n\texpected → b a\n\tgot      → a b\n",
		},
	} {
		s := parse(t, test.text).scenarios[0]
		for _, l := range s.layouts() {
			outcomes, err := s.replay(t, l)
			require.NoError(t, err)
			found := s.check(outcomes, l)
			require.Len(t, found, 1, "%s", test.text)
			require.Equal(t, test.failure, found[0].String())
		}
	}
}

// TestEveryExpectationCanFail checks that any change of any expectation fails.
func TestEveryExpectationCanFail(t *testing.T) {
	for _, f := range readAll(t) {
		for _, s := range f.scenarios {
			for _, l := range []layout{s.layouts()[0], s.layouts()[len(s.layouts())-1]} {
				requireEachCanFail(t, s, l)
			}
		}
	}
}

func requireEachCanFail(t *testing.T, s *scenario, l layout) {
	t.Helper()
	outcomes, err := s.replay(t, l)
	require.NoError(t, err)
	require.Empty(t, s.check(outcomes, l))
	for _, line := range s.commands {
		right := line.expected
		for _, wrong := range wrongs(right) {
			line.expected = wrong
			require.Len(t, s.check(outcomes, l), 1, "%s:%d: %q instead of %q", s.file, line.number, wrong, right)
		}
		line.expected = right
	}
}

// wrongs returns expectations that differ from the right one: with another
// line, and, for each line, without it and with another word in it.
func wrongs(right outcome) []outcome {
	if len(right) == 0 {
		right = outcome{""}
	}
	wrongs := []outcome{append(slices.Clone(right), "something else: a")}
	for i, text := range right {
		more, less := slices.Clone(right), slices.Clone(right)
		more[i] += " more"
		wrongs = append(wrongs, more)
		if less[i] = ""; text != "" {
			wrongs = append(wrongs, less)
		}
	}
	return wrongs
}

// TestUpdateMendsExpectations checks that an update changes the expectations
// and nothing else.
func TestUpdateMendsExpectations(t *testing.T) {
	const wrong = `# A file.

--- C3: A scenario.
together a b
add a b -> b
# A comment.
get
state → idle
  ready: z

state
`
	const right = `# A file.

--- C3: A scenario.
together a b
add a b
# A comment.
get → a
state
  ready: b
  processing: a
  counts: added 2

state
  ready: b
  processing: a
  counts: added 2
`
	f := parse(t, wrong)
	require.NoError(t, f.update(t))
	require.Equal(t, right, f.text())
	require.Equal(t, right, parse(t, right).text())
}

// TestFilesAreInTheirForm checks that the files are in the form that an update
// writes.
func TestFilesAreInTheirForm(t *testing.T) {
	for _, f := range readAll(t) {
		text := f.text()
		again, err := parseFile(f.name, text)
		require.NoError(t, err)
		require.Equal(t, text, again.text())
		require.NotContains(t, text, "->")
		for _, line := range strings.Split(text, "\n") {
			require.Equal(t, strings.TrimRight(line, " \t"), line, f.name)
		}
	}
}
