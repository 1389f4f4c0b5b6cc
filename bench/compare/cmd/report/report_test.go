package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASpreadIsTheMedianAndTheRange(t *testing.T) {
	assert.Equal(t, spread{median: 3, least: 1, greatest: 9}, spreadOf([]float64{9, 1, 3}))
	assert.Equal(t, spread{median: 2.5, least: 1, greatest: 4}, spreadOf([]float64{4, 3, 2, 1}))
	assert.Equal(t, "4.20 (3.90–4.40)", spread{4.2, 3.9, 4.4}.String())
	assert.Equal(t, "7", spread{7, 7, 7}.String())
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	assert.Equal(t, []float64{4, 0.5}, ratios([]float64{8, 1}, []float64{2, 2}))
}

func TestFiguresHaveThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.001: "0.00", 0.5: "0.50", 3.14159: "3.14", 12.345: "12.3", 100: "100",
		456.7: "457", 9999: "9999", 12345: "12.3k", 2.5e6: "2.5M", -42.5: "-42.5",
	} {
		assert.Equal(t, want, figure(x))
	}
}

func TestAFloorIsReachedByTheMedian(t *testing.T) {
	o := outcome{
		comparison: comparison{title: "work", unit: "B", floors: []floor{
			{subject: "ours", atLeast: 2},
			{subject: "ours", atLeast: 5},
			{subject: "ours", atLeast: 1, than: "channel"},
			{subject: "ours", atLeast: 1.1, than: "channel"},
			{subject: "ours", note: "no aim"},
		}},
		values: map[string][]float64{"ours": {1, 2, 3}, peer: {4, 8, 12}, "channel": {1, 2, 3}},
	}
	var said []string
	for _, v := range o.verdicts() {
		said = append(said, v.Reached)
	}
	assert.Equal(t, []string{"reached", "**missed**", "reached", "**missed**", "no aim"}, said)
	r := newReport(quickScale, t.TempDir())
	r.note(o)
	assert.Equal(t, 2, r.Reached())
	assert.Equal(t, 4, r.Aims())
}

func TestAFloorNamesItsBenchmark(t *testing.T) {
	o := outcome{
		comparison: comparison{unit: "ns/item", floors: []floor{
			{subject: "ours", atLeast: 2, bench: theFloor},
			{subject: "ours", atLeast: 2, bench: "one that was not measured"},
		}},
		values: map[string][]float64{"ours": {3, 4, 5}, peer: {4, 8, 12}, theFloor: {2, 2, 2}},
	}
	measured := o.verdicts()
	assert.Equal(t, "floor: 2 ns/item", measured[0].Bench)
	assert.Equal(t, "2 (1.50–2.50) ×", measured[0].Above)
	assert.Equal(t, "–", measured[1].Bench)
	assert.Equal(t, "–", measured[1].Above)
}

func TestEverySubjectIsMeasuredInEveryRound(t *testing.T) {
	var order []string
	measure := func(name string) subject {
		return subject{name, name, func() float64 {
			order = append(order, name)
			return float64(len(order))
		}}
	}
	o := inRounds(comparison{subjects: []subject{measure("a"), measure("b")}}, 2)
	assert.Equal(t, []string{"a", "b", "b", "a"}, order)
	assert.Equal(t, map[string][]float64{"a": {1, 4}, "b": {2, 3}}, o.values)
}

func TestPartsAreChosenByName(t *testing.T) {
	names := func(list string, cpus []int) (names []string) {
		chosen, err := chooseParts(list, cpus)
		require.NoError(t, err)
		for _, p := range chosen {
			names = append(names, p.name)
		}
		return names
	}
	assert.Equal(t, partNames(), names("", nil))
	assert.Equal(t, []string{"order", "cycle"}, names("order,cycle", nil))
	assert.Equal(t, []string{"cores"}, names("", []int{1}))
	assert.Equal(t, []string{"order", "cores"}, names("order", []int{1}))
	_, err := chooseParts("order,nonsense", nil)
	assert.ErrorContains(t, err, `"nonsense"`)
}

func TestNumbersOfProcessorsAreChecked(t *testing.T) {
	cpus, err := parseCPUs("1, 2,64")
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2, 64}, cpus)
	cpus, err = parseCPUs("")
	require.NoError(t, err)
	assert.Nil(t, cpus)
	for list, want := range map[string]string{
		"0":    "-cpu: 0 is below 1: want numbers of processors, such as 1,2,4",
		"4,-1": "-cpu: -1 is below 1: want numbers of processors, such as 1,2,4",
		"two":  `-cpu: "two" is not a number of processors`,
		"1,,2": `-cpu: "" is not a number of processors`,
	} {
		_, err := parseCPUs(list)
		assert.EqualError(t, err, want, list)
	}
	assert.Empty(t, beyond([]int{1, 2}, 2))
	assert.Contains(t, beyond([]int{1, 2, 4, 8}, 2), "This machine has 2 processors. With 4, 8,")
}

func TestThroughputAgainstCores(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	r := newReport(quickScale, t.TempDir())
	r.scale.rounds, r.cpus = 1, []int{1, 2}
	cores(r)
	require.Empty(t, r.failed)
	assert.Equal(t, before, runtime.GOMAXPROCS(0))
	require.Len(t, r.last().Tables, 2)
	for _, table := range r.last().Tables {
		require.Len(t, table.Rows, 2)
		assert.Contains(t, table.Header, "shardq")
		assert.Contains(t, table.Header, "claims")
		for _, row := range table.Rows {
			assert.NotContains(t, row, "–", "every engine, with every number of processors")
		}
	}
	assert.Contains(t, r.last().Tables[0].Header, peer)
	assert.Len(t, r.last().Plots, 2)
}

func TestAnOutputThatCannotBeWrittenIsFoundFirst(t *testing.T) {
	_, err := outputFile(true, filepath.Join(os.DevNull, "benchmarks.md"))
	assert.Error(t, err)
}

func TestTheDocumentShowsWhatWasMeasured(t *testing.T) {
	directory := t.TempDir()
	r := newReport(quickScale, directory)
	o := outcome{
		comparison: comparison{title: "some work", unit: "ns/item", subjects: []subject{{name: defaultShardq}, {name: peer}}},
		values:     map[string][]float64{defaultShardq: {10, 20}, peer: {40, 100}},
	}
	o.floors = []floor{{subject: defaultShardq, atLeast: 4, bench: theFloor}}
	r.section("A section", "Some\ntext.")
	r.table("ns", r.note(o)...)
	lines := newCurves()
	lines.add(1, o)
	lines.add(8, o)
	r.plot("some.svg", "A plot", figureAxes{X: "x", Y: "y"}, lines)
	file := filepath.Join(directory, "benchmarks.md")
	const part = "\n<!-- kept:begin -->\n## By hand\n<!-- kept:end -->\n"
	require.NoError(t, os.WriteFile(file, []byte("what is written anew\n"+part), 0o600))
	require.NoError(t, r.write(file))

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "## A section\n\nSome text.\n\nns:\n\n| work |")
	assert.Contains(t, string(text), "| some work | 15 (10–20) | 70 (40–100) | **4.50 (4–5)** |")
	assert.Contains(t, string(text), "| ≥ 4 × client-go | 4.50 (4–5) | reached | – | – |")
	assert.Contains(t, string(text), "![A plot](images/some.svg)")
	assert.True(t, strings.HasSuffix(string(text), part))
	assert.NotContains(t, string(text), "what is written anew")
	picture, err := os.ReadFile(filepath.Join(directory, "some.svg"))
	require.NoError(t, err)
	assert.NoError(t, xml.Unmarshal(picture, new(struct{})))
}
