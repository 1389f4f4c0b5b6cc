package main

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scale is the scale of the cases in tests: thousands of items in place of
// millions.
func testScale() float64 {
	if testing.Short() {
		return 0.002
	}
	return 0.01
}

// TestAdversaries tries everything on every queue, with few items, and checks
// what does not depend on the machine.
func TestAdversaries(t *testing.T) {
	b := &bench{scale: testScale(), rounds: 1, limit: time.Minute, progress: io.Discard}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := b.try([]hostile{c}, targets())
			requireKept(t, d)
			requireNoStrays(t, d.Outcomes[0])
			text, err := d.text()
			require.NoError(t, err)
			assert.NotContains(t, text, "> ", "stopped")
			assert.False(t, d.unfinished())
		})
	}
}

// requireKept checks that shardq, with each number of shards, kept the promises
// of the case.
func requireKept(t *testing.T, d *results) {
	t.Helper()
	titles := map[string]bool{}
	for _, o := range d.Outcomes {
		for _, p := range o.promises {
			assert.True(t, p.kept(), "%s, %s: %s is %s, more than %s", p.title, p.clause, p.what,
				quantity(p.unit, p.measured), quantity(p.unit, p.bound))
			titles[p.title] = true
		}
	}
	assert.Len(t, titles, 2)
	assert.Equal(t, t.Failed(), d.broken())
}

// requireNoStrays checks that no queue lost an item, or handed one out twice.
func requireNoStrays(t *testing.T, o *outcome) {
	t.Helper()
	if o.Case.name == "idle" {
		return
	}
	for _, column := range o.columns() {
		strays := o.cells[place{"items lost, or handed out twice", column.name}]
		require.NotNil(t, strays, column.name)
		assert.Equal(t, []float64{0}, strays.values, column.name)
	}
}

func TestCollisionsAreWhatTheyAreSaidToBe(t *testing.T) {
	b := &bench{scale: 0.001, rounds: 1, limit: time.Minute, progress: io.Discard}
	o := b.inRounds(cases[0], targets()[:1])
	for _, f := range families {
		assert.Equal(t, []float64{1 << 13}, o.cells[place{f.name + ": keys of one hash", "shardq"}].values)
	}
	all := float64(targets()[0].shards)
	assert.Equal(t, []float64{all}, o.cells[place{"xxhash64, StableRouting: fullest shard ÷ mean", "shardq"}].values)
}

func TestWhatTakesTooLongIsStopped(t *testing.T) {
	b := &bench{scale: 0.001, rounds: 2, limit: 1, progress: io.Discard}
	d := b.try([]hostile{cases[3]}, targets()[:3])
	text, err := d.text()
	require.NoError(t, err)
	assert.Contains(t, text, "| "+filing+" | > 1 ns | > 1 ns | > 1 ns |")
	assert.True(t, d.unfinished())
	assert.False(t, d.broken(), "slow is not broken")
	assert.False(t, b.try([]hostile{cases[3]}, targets()[2:3]).unfinished(), "others may be slow")
}

func TestASlowTargetHasOneRound(t *testing.T) {
	tried := map[string]int{}
	c := hostile{try: func(_ *bench, t target) *figures {
		tried[t.name]++
		return newFigures(t)
	}}
	b := &bench{scale: 1, rounds: 3, progress: io.Discard}
	b.inRounds(c, targets())
	assert.Equal(t, map[string]int{"shardq": 3, "shardq-1": 3, "client-go": 3, "controller-runtime": 1}, tried)
}

func TestNamesAreChosenFrom(t *testing.T) {
	all, err := choose("-only", "", cases, caseNames())
	require.NoError(t, err)
	assert.Len(t, all, len(cases))
	some, err := choose("-targets", "client-go,shardq", targets(), targetNames())
	require.NoError(t, err)
	assert.Equal(t, []string{"client-go", "shardq"}, []string{some[0].name, some[1].name})
	_, err = choose("-only", "burst,nonsense", cases, caseNames())
	assert.ErrorContains(t, err, `"nonsense"`)
	_, err = choose("-only", "burst,idle,burst", cases, caseNames())
	assert.ErrorContains(t, err, `"burst" is there twice`)
}

func TestFlagsAreChecked(t *testing.T) {
	good := bench{scale: 1, limit: time.Second}
	require.NoError(t, good.validate())
	for _, bad := range []func(*bench){
		func(b *bench) { b.scale = 0 },
		func(b *bench) { b.scale = -1 },
		func(b *bench) { b.scale = 1.1 },
		func(b *bench) { b.scale = math.Inf(1) },
		func(b *bench) { b.scale = math.NaN() },
		func(b *bench) { b.rounds = -1 },
		func(b *bench) { b.limit = 0 },
	} {
		b := good
		bad(&b)
		assert.Error(t, b.validate())
	}
}

// TestTinyScales checks that shardq is not blamed for what a few items cannot
// show.
func TestTinyScales(t *testing.T) {
	b := &bench{scale: math.SmallestNonzeroFloat64, rounds: 1, limit: time.Minute, progress: io.Discard}
	require.NoError(t, b.validate())
	assert.Equal(t, 1, b.count(1000))
	assert.Equal(t, leastMany, b.countAtLeast(leastMany, 10_000))
	for _, c := range cases {
		if c.name != "collisions" { // it has as many keys at any scale
			requireKept(t, b.try([]hostile{c}, targets()[:2]))
		}
	}
}

func TestFilesAreChecked(t *testing.T) {
	directory := t.TempDir()
	document := filepath.Join(directory, "reliability.md")
	require.NoError(t, os.WriteFile(document, []byte(beginMark+"\nold\n"+endMark), 0o644))
	require.NoError(t, checkFiles("", "", true))
	require.NoError(t, checkFiles(filepath.Join(directory, "new.md"), document, false))
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	assert.Contains(t, string(text), "old", "nothing is written yet")

	assert.ErrorContains(t, checkFiles("", document, true), "-update takes all cases")
	assert.Error(t, checkFiles(filepath.Join(directory, "missing", "new.md"), "", false))
	assert.Error(t, checkFiles("", filepath.Join(directory, "new.md"), false), "has no marks")
}

func TestTheTablesReplaceWhatStandsBetweenTheMarks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reliability.md")
	require.Error(t, findMarks(file), "no file")
	require.NoError(t, findMarks(""), "none to update")
	for _, text := range []string{"no marks", beginMark, endMark + beginMark} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		require.ErrorContains(t, findMarks(file), beginMark)
	}
	require.NoError(t, os.WriteFile(file, []byte("before\n"+beginMark+"\nold\n"+endMark+"\nafter\n"), 0o644))
	for _, text := range []string{"first\n", "second\n"} {
		require.NoError(t, findMarks(file))
		require.NoError(t, replaceBetweenMarks(file, text))
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, "before\n"+beginMark+"\n\n"+text+"\n"+endMark+"\nafter\n", string(got))
	}
}

func TestABrokenPromiseIsToldOf(t *testing.T) {
	f := newFigures(targets()[0])
	f.bounded("C8", "retained", bytes, 1024, 512)
	o := newOutcome(hostile{Title: "A case"}, targets())
	o.add(f.target, f)
	d := &results{bench: &bench{scale: 1}, Outcomes: []*outcome{o}}
	require.False(t, d.broken())

	f = newFigures(targets()[0])
	f.bounded("C8", "retained", bytes, 1024, 2048)
	o.add(f.target, f)
	f = newFigures(targets()[0])
	f.bounded("C8", "retained", bytes, 1024, 256)
	o.add(f.target, f)
	require.True(t, d.broken())
	text, err := d.text()
	require.NoError(t, err)
	assert.Contains(t, text, "| 1 KiB | 2 KiB | **broken** |")
	assert.Contains(t, text, "| retained | 512 B (256 B–2 KiB) |")

	peer := newFigures(targets()[2])
	peer.bounded("C8", "retained", bytes, 1024, 1<<30)
	assert.Empty(t, peer.promises, "others promised nothing")
}
