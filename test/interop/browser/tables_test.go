package browser

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// items returns rows that differ in all columns, with a different order in
// each. A column of numbers is ordered by value, not by text.
func items() []any {
	item := func(key string, age any, attempt, worker float64, dirty bool, group string, priority, shard float64) map[string]any {
		return map[string]any{
			"key": key, "ageSeconds": age, "attempt": attempt, "worker": worker, "dirty": dirty,
			"group": group, "priority": priority, "shard": shard, "stuck": false,
		}
	}
	return []any{
		item("delta", 0.9, 1000, 9, false, "b", -2, 30),
		item("alpha", 90., 20, 0, true, "a", 10, 4),
		item("echo", nil, 3, 12, false, "d", 0, 100),
		item("Bravo", 0.002, 400, 100, true, "c", 9, 0),
		item("charlie", 86400., 50, 11, false, "e", -11, 5),
	}
}

// inOrder returns the keys of the sorted rows. Rows with an unknown value are
// last.
func inOrder(rows []any, field, direction string) (keys []string) {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b any) int {
		x, y := a.(map[string]any)[field], b.(map[string]any)[field]
		if x == nil || y == nil {
			return cmp.Compare(fmt.Sprint(x == nil), fmt.Sprint(y == nil))
		}
		order := cmp.Compare(fmt.Sprint(x), fmt.Sprint(y))
		if number, ok := x.(float64); ok {
			order = cmp.Compare(number, y.(float64))
		}
		if direction == "descending" {
			return -order
		}
		return order
	})
	for _, row := range sorted {
		keys = append(keys, row.(map[string]any)["key"].(string))
	}
	return keys
}

const (
	processing = `[data-table="detail.processing"] `
	rowKeys    = processing + "tbody tr > :first-child bdi"
)

// TestTablesSortByEachColumn sorts in both directions, by value whatever the
// unit, and checks that the order stays when the rows change, and the focus.
func TestTablesSortByEachColumn(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Group: func(item string) string { return item }})
	s := newStepped(t, q)
	rows := items()
	answer := func(report map[string]any) { set(queueIn(report, 0), "detail.processing", rows) }
	s.step(time.Second, answer)
	require.Equal(t, inOrder(rows, "", ""), s.texts(rowKeys), "as they come")
	fields := s.attributes(processing+"thead th:has(button)", "data-field")
	require.Len(t, fields, 8)
	for _, field := range fields {
		head := processing + `thead th[data-field="` + field + `"]`
		direction := func() string { return s.attributes(head, "aria-sort")[0] }
		for range 3 {
			before := direction()
			s.run(click(head + " button"))
			// The opposite one, or of an unsorted column the one with the
			// highest number, or the first word, on top.
			want := "descending"
			if before == "descending" || before == "" && (field == "key" || field == "group") {
				want = "ascending"
			}
			require.Equal(t, want, direction(), field)
			require.Equal(t, inOrder(rows, field, want), s.texts(rowKeys), "by %s, %s", field, want)
			require.Len(t, s.texts(processing+"thead th[aria-sort]"), 1)
			require.Equal(t, "sorted by "+s.text(head)+", "+want, s.text("#announcer"))
		}
		rows = rows[1:] // one goes
		s.step(time.Second, answer)
		require.Equal(t, inOrder(rows, field, direction()), s.texts(rowKeys))
		rows = items() // and comes back
		s.step(time.Second, answer)
		require.Equal(t, inOrder(rows, field, direction()), s.texts(rowKeys))
	}
	s.run(chromedp.Focus(processing+`th[data-field="ageSeconds"] button`), chromedp.KeyEvent(" "))
	require.Equal(t, inOrder(rows, "ageSeconds", "descending"), s.texts(rowKeys), "by the keyboard")
	s.step(time.Second, answer)
	require.Equal(t, "For", evaluate[string](s.tab, `document.activeElement.textContent`))
	s.requireNoComplaints()
}

// TestRowsShowTheAnswer checks each cell, also when a row shows another item
// than before, and the text in place of missing rows.
func TestRowsShowTheAnswer(t *testing.T) {
	s := newStepped(t, shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Group: func(item string) string { return item }}))
	answer := func(rows ...any) {
		s.step(time.Second, func(report map[string]any) { set(queueIn(report, 0), "detail.processing", append([]any{}, rows...)) })
	}
	cells := func() []string { return s.texts(processing + "tbody tr:first-child > *") }
	empty := func() bool {
		return evaluate[bool](s.tab, `document.querySelector('section:has(`+processing+`) [data-empty]').checkVisibility()`)
	}
	require.True(t, empty())
	all := items()
	answer(all[:3]...)
	require.False(t, empty())
	require.Equal(t, []string{"delta", "900 ms", "1,000", "9", "", "b", "-2", "30"}, cells())
	all[3].(map[string]any)["stuck"], all[3].(map[string]any)["keyLength"] = true, 4096
	answer(all[3], all[4])
	require.Equal(t, []string{"Bravo… 4,096 bytesstuck", "2.0 ms", "400", "100", "yes", "c", "9", "0"}, cells())
	require.Equal(t, []string{"stuck", ""}, s.attributes(processing+"tbody tr", "class"))
	answer(all[4], all[3])
	require.Equal(t, []string{"", "stuck"}, s.attributes(processing+"tbody tr", "class"))
	require.Equal(t, []string{"charlie", "1 d 00 h", "50", "11", "", "e", "-11", "5"}, cells())
	below := func() float64 {
		return evaluate[float64](s.tab, `document.querySelector('[aria-labelledby="detail.failures"]').getBoundingClientRect().top`)
	}
	answer(all...)
	before := below()
	answer()
	require.True(t, empty())
	require.Equal(t, before, below(), "nothing moves when rows go")
	s.requireNoComplaints()
}
