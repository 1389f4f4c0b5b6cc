package shardqprom_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// grouped returns a queue with items. The group of an item is the part before
// the slash.
func grouped(t *testing.T, items ...string) *shardq.Queue[string] {
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Group: func(item string) string {
		group, _, _ := strings.Cut(item, "/")
		return group
	}})
	for _, item := range items {
		q.Add(item)
	}
	return q
}

// readyByGroup returns the ready items of each group in a scrape.
func readyByGroup(t *testing.T, limit int, q shardq.Inspector) map[string]float64 {
	shown := map[string]float64{}
	family := gather(t, newCollector(t, shardqprom.Options{Groups: limit}, q))["shardq_group_items"]
	for _, m := range family.GetMetric() {
		if !hasAll(m, []string{"state=ready"}) {
			continue
		}
		for _, l := range m.GetLabel() {
			if l.GetName() == "group" {
				shown[l.GetValue()] = m.Gauge.GetValue()
			}
		}
	}
	return shown
}

func TestLargestGroups(t *testing.T) {
	q := grouped(t, "a/1", "b/1", "b/2", "c/1", "c/2", "c/3", "d/1", "d/2")
	require.Equal(t, map[string]float64{"c": 3, "other": 5}, readyByGroup(t, 1, q))
	require.Equal(t, map[string]float64{"c": 3, "b": 2, "d": 2, "other": 1}, readyByGroup(t, 3, q))
	require.Equal(t, map[string]float64{"a": 1, "b": 2, "c": 3, "d": 2, "other": 0}, readyByGroup(t, 4, q))
	require.Equal(t, map[string]float64{"a": 1, "b": 2, "c": 3, "d": 2, "other": 0}, readyByGroup(t, 100, q))
}

// TestManyGroups checks that the largest of a thousand groups are found in any
// order, and that no item is lost.
func TestManyGroups(t *testing.T) {
	var items []string
	for group := range 1000 {
		items = append(items, fmt.Sprintf("%d/1", group))
	}
	q := grouped(t, append(items, "17/2", "17/3", "900/2")...)
	require.Equal(t, map[string]float64{"17": 3, "900": 2, "other": 998}, readyByGroup(t, 2, q))
}

// TestHostileGroupNames checks that no name of a group fails a scrape, and that
// long names are cut.
func TestHostileGroupNames(t *testing.T) {
	long := strings.Repeat("é", 1000)
	q := grouped(t, "\xff/1", "\xfe/1", "other/1", long+"a/1", long+"b/1", "/1", "a\x00\n\"/1", "x"+long+"/1")
	shown := readyByGroup(t, 100, q)
	total := 0.0
	for name, n := range shown {
		require.True(t, utf8.ValidString(name))
		require.LessOrEqual(t, len(name), 128)
		total += n
	}
	require.Equal(t, 8.0, total)
	require.Equal(t, 2.0, shown["\uFFFD"])
	require.Equal(t, 1.0, shown["other"])
	require.Equal(t, 2.0, shown[strings.Repeat("é", 64)], "alike in what is shown")
	require.Equal(t, 1.0, shown["x"+strings.Repeat("é", 63)], "no half a character")
	require.Equal(t, 1.0, shown[""])
}

// TestCutGroupNames checks that a name is cut at a whole character, and that
// each run of invalid bytes is replaced by one character.
func TestCutGroupNames(t *testing.T) {
	filler := strings.Repeat("a", 100)
	for name, want := range map[string]string{
		filler + strings.Repeat("b", 28) + "c":                 filler + strings.Repeat("b", 28),
		filler + strings.Repeat("b", 27) + "é":                 filler + strings.Repeat("b", 27),
		filler + strings.Repeat("b", 26) + "€":                 filler + strings.Repeat("b", 26),
		filler + strings.Repeat("b", 25) + "😀":                 filler + strings.Repeat("b", 25),
		filler + strings.Repeat("b", 26) + "éc":                filler + strings.Repeat("b", 26) + "é",
		filler + strings.Repeat("\xff", 40):                    filler + "\uFFFD",
		filler + strings.Repeat("b", 24) + "\uFFFDbc":          filler + strings.Repeat("b", 24) + "\uFFFDb",
		filler + strings.Repeat("b", 25) + "\uFFFDc":           filler + strings.Repeat("b", 25) + "\uFFFD",
		strings.Repeat("a\xff", 100):                           strings.Repeat("a\uFFFD", 32),
		strings.Repeat("\xff", 200):                            "\uFFFD",
		filler + strings.Repeat("b", 24) + "\x80\x80\x80\x80c": filler + strings.Repeat("b", 24) + "\uFFFD",
	} {
		require.Contains(t, readyByGroup(t, 1, grouped(t, name+"/1")), want, "%q", name)
	}
}

// TestGroupNamedAsTheOthers checks that a group named other is added up with
// the others.
func TestGroupNamedAsTheOthers(t *testing.T) {
	q := grouped(t, "other/1", "other/2", "other/3", "a/1", "a/2", "b/1")
	require.Equal(t, map[string]float64{"a": 2, "other": 4}, readyByGroup(t, 2, q))
}
