package browsertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
)

// items returns rows that differ in all columns, with a different order in
// each. A column of numbers is ordered by value, not by text.
func items() []any {
	item := func(key string, age, due any, attempts, worker float64, dirty bool, group string, priority, shard float64) map[string]any {
		return map[string]any{
			"key": key, "ageSeconds": age, "dueSeconds": due, "attempts": attempts, "attempt": attempts, "worker": worker, "dirty": dirty,
			"group": group, "priority": priority, "shard": shard, "stuck": false,
		}
	}
	return []any{
		item("delta", 0.9, 7200., 1000, 9, false, "b", -2, 30),
		item("alpha", 90., nil, 20, 0, true, "a", 10, 4),
		item("echo", nil, 0.05, 3, 12, false, "d", 0, 100),
		item("Bravo", 0.002, 300., 400, 100, true, "c", 9, 0),
		item("charlie", 86400., 0.0009, 50, 11, false, "e", -11, 5),
	}
}

func groupRows() []any {
	group := func(name string, ready, share, processing, held, weight float64, throttledBy string, oldest, left, rate any, shard float64) map[string]any {
		return map[string]any{
			"group": name, "ready": ready, "share": share, "processing": processing, "held": held, "weight": weight, "throttledBy": throttledBy, "shard": shard,
			"oldestReadySeconds": oldest, "pauseLeftSeconds": left, "ratePerSecond": rate,
		}
	}
	return []any{
		group("b", 9, 0.09, 100, 1000, 1, "", 2., nil, nil, 3),
		group("c", 100, 1, 9, 20, 10, "pause", 100., 60., 0.5, 20),
		group("a", 20, 0.2, 1, 300, 2, "limit", 30., nil, 100., 1),
	}
}

func failures() []any {
	return []any{
		map[string]any{"key": "b", "failures": 1000.},
		map[string]any{"key": "c", "failures": 20.},
		map[string]any{"key": "a", "failures": 300.},
	}
}

// A sheet is a table of the page.
type sheet struct {
	*stepped
	path string
}

func (s sheet) selector(within string) string { return `[data-table="` + s.path + `"] ` + within }

func (s sheet) names() []string { return s.texts(s.selector("tbody tr > :first-child bdi")) }

func (s sheet) directions() []string {
	return slices.DeleteFunc(s.attributes(s.selector("thead th"), "aria-sort"), func(d string) bool { return d == "" })
}

func (s sheet) head(field string) string { return s.selector(`thead th[data-field="` + field + `"]`) }

// fields returns the fields of the columns that can be sorted.
func (s sheet) fields() []string {
	return s.attributes(s.selector("thead th:has(button)"), "data-field")
}

// inOrder returns the first fields of the sorted rows. Rows with an unknown
// value are last.
func inOrder(rows []any, first, field, direction string) (names []string) {
	value := func(row any) any {
		for name := range strings.SplitSeq(field, ".") {
			row = row.(map[string]any)[name]
		}
		return row
	}
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b any) int {
		x, y := value(a), value(b)
		if x == nil || y == nil {
			return cmp.Compare(fmt.Sprint(x == nil), fmt.Sprint(y == nil))
		}
		order := 0
		switch x := x.(type) {
		case float64:
			order = cmp.Compare(x, y.(float64))
		case string:
			order = cmp.Compare(x, y.(string))
		case bool:
			order = cmp.Compare(fmt.Sprint(x), fmt.Sprint(y))
		}
		if direction == "descending" {
			return -order
		}
		return order
	})
	for _, row := range sorted {
		names = append(names, row.(map[string]any)[first].(string))
	}
	return names
}

// TestTablesSortByEachColumn sorts in both directions, by value whatever the
// unit, and checks that the order stays when the rows change.
func TestTablesSortByEachColumn(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Group: func(item string) string { return item }})
	s := newStepped(t, q)
	for path, c := range map[string]struct {
		first   string
		columns int
		rows    []any
	}{
		"detail.processing": {"key", 8, items()},
		"detail.ready":      {"key", 6, items()},
		"detail.delayed":    {"key", 6, items()},
		"detail.groups":     {"group", 11, groupRows()},
		"detail.retried":    {"key", 2, failures()},
	} {
		table := sheet{s, path}
		rows := c.rows
		answer := func(report map[string]any) { set(queueIn(report, 0), path, rows) }
		s.step(time.Second, answer)
		require.Equal(t, inOrder(rows, c.first, "", ""), table.names(), "as they come")
		require.Len(t, table.fields(), c.columns)
		for _, field := range table.fields() {
			for i := range 3 {
				before := s.attributes(table.head(field), "aria-sort")[0]
				s.run(click(table.head(field) + " button"))
				direction := s.attributes(table.head(field), "aria-sort")[0]
				require.Equal(t, nextDirection(before, field == "key" || field == "group"), direction)
				require.Equal(t, inOrder(rows, c.first, field, direction), table.names(), "%s by %s, %s, click %d", path, field, direction, i)
				require.Len(t, table.directions(), 1)
				require.Equal(t, "sorted by "+s.text(table.head(field))+", "+direction, s.text("#announcer"))
			}
			direction := s.attributes(table.head(field), "aria-sort")[0]
			rows = rows[1:] // one goes
			s.step(time.Second, answer)
			require.Equal(t, inOrder(rows, c.first, field, direction), table.names())
			rows = append([]any{c.rows[0]}, rows...) // and comes back
			s.step(time.Second, answer)
			require.Equal(t, inOrder(rows, c.first, field, direction), table.names())
		}
	}
	s.requireNoComplaints()
}

// nextDirection returns the direction after a click: the opposite one, or for
// an unsorted column the one with the highest number, or the first word, on
// top.
func nextDirection(before string, words bool) string {
	if before == "descending" || before == "" && words {
		return "ascending"
	}
	return "descending"
}

// TestRowsShowTheAnswer checks each cell with its unit, also when a row
// shows another item than before, and the text in place of missing rows.
func TestRowsShowTheAnswer(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true, Group: func(item string) string { return item }})
	s := newStepped(t, q)
	table := sheet{s, "detail.processing"}
	shown := func() [][]string {
		return evaluate[[][]string](s.tab, `[...document.querySelectorAll('`+table.selector("tbody tr")+`')].map(row => [...row.cells].map(c => c.textContent))`)
	}
	answer := func(rows ...any) {
		s.step(time.Second, func(report map[string]any) { set(queueIn(report, 0), table.path, append([]any{}, rows...)) })
	}
	empty := `section:has([data-table="detail.processing"]) [data-empty]`
	visible := func(selector string) bool {
		return evaluate[bool](s.tab, `document.querySelector('`+selector+`').checkVisibility()`)
	}
	all := items()
	require.True(t, visible(empty))
	require.False(t, visible(table.selector("")))

	answer(all[:3]...)
	require.Equal(t, [][]string{
		{"delta", "900 ms", "1,000", "9", "", "b", "-2", "30"},
		{"alpha", "1 m 30 s", "20", "–", "yes", "a", "10", "4"},
		{"echo", "–", "3", "12", "", "d", "0", "100"},
	}, shown())
	require.False(t, visible(empty))
	require.True(t, visible(table.selector("")))

	all[3].(map[string]any)["stuck"], all[3].(map[string]any)["keyLength"] = true, 4096
	answer(all[3], all[4])
	require.Equal(t, [][]string{
		{"Bravo… 4,096 bytesstuck", "2.0 ms", "400", "100", "yes", "c", "9", "0"},
		{"charlie", "1 d 00 h", "50", "11", "", "e", "-11", "5"},
	}, shown())
	require.Equal(t, []string{"stuck", ""}, s.attributes(table.selector("tbody tr"), "class"))
	answer(all[4], all[3])
	require.Equal(t, []string{"", "stuck"}, s.attributes(table.selector("tbody tr"), "class"))
	require.Equal(t, "charlie", shown()[0][0], "what was stuck is another row now")
	answer()
	require.True(t, visible(empty))
	require.False(t, visible(table.selector("")))

	groups := sheet{s, "detail.groups"}
	s.step(time.Second, func(report map[string]any) { set(queueIn(report, 0), groups.path, groupRows()) })
	require.Equal(t, []string{"9.0 %", "100 %", "20 %"}, s.texts(groups.selector(".share")))
	require.Equal(t, []string{"9", "100", "20"}, s.attributes(groups.selector(".share .part"), "width"))
	s.requireNoComplaints()
}

// TestOverviewSortsAndFollows checks that rates and graphs stay with their
// queue in any row, and that rows come and go.
func TestOverviewSortsAndFollows(t *testing.T) {
	var queues []shardq.Inspector
	for _, name := range []string{"b", "c", "a"} {
		queues = append(queues, shardq.MustNew(shardq.Options[int]{Name: name, Metrics: true}))
	}
	numbers := func(ready, added [3]float64) func(map[string]any) {
		return func(report map[string]any) {
			for i := range 3 {
				q := queueIn(report, i)
				set(q, "gauges.ready", ready[i])
				set(q, "gauges.oldestReadySeconds", []any{0.5, nil, 90.}[i])
				set(q, "gauges.processing", []any{100., 20., 3.}[i])
				set(q, "gauges.oldestProcessingSeconds", []any{3., 0.2, 10000.}[i])
				set(q, "gauges.delayed", []any{7., 1000., 20.}[i])
				set(q, "counters.added", added[i])
				set(q, "state", []any{"running", "drained", "shutting down"}[i])
			}
		}
	}
	s := newSteppedOf(t, debugpage.Options{Queues: queues}, "", numbers([3]float64{2, 100, 30}, [3]float64{10, 9000, 200}))
	table := sheet{s, "queues"}
	require.Equal(t, []string{"b", "c", "a"}, table.names())
	last := map[string]any{}
	s.step(2*time.Second, func(report map[string]any) {
		numbers([3]float64{1, 50, 60}, [3]float64{30, 9000, 1200})(report)
		last = report
	})
	require.Len(t, table.fields(), 8)
	for _, field := range table.fields() {
		for range 2 {
			s.run(click(table.head(field) + " button"))
			direction := s.attributes(table.head(field), "aria-sort")[0]
			require.Equal(t, inOrder(last["queues"].([]any), "id", field, direction), table.names(), "%s, %s", field, direction)
		}
	}
	s.run(click(table.head("gauges.ready")+":not(.live) button"), click(table.head("gauges.ready")+":not(.live) button"))
	require.Equal(t, []string{"b", "c", "a"}, table.names(), "ascending")
	rates := map[string]string{"b": "10", "c": "0", "a": "500"}
	graphs := map[string]string{
		"b": lineThrough([2]float64{0, 1}, [2]float64{100, 0.5}), "c": lineThrough([2]float64{0, 1}, [2]float64{100, 0.5}),
		"a": lineThrough([2]float64{0, 0.5}, [2]float64{100, 1}),
	}
	check := func(names ...string) {
		t.Helper()
		require.Equal(t, names, table.names())
		for i, name := range names {
			row := table.selector(fmt.Sprintf("tbody tr:nth-child(%d)", i+1))
			require.Equal(t, rates[name], s.text(row+" td.number.live"))
			require.Equal(t, graphs[name], s.line(row))
			require.Equal(t, "?queue="+name, s.attributes(row+" a", "href")[0])
		}
	}
	check("b", "c", "a")
	s.run(click(table.head("gauges.ready") + ":not(.live) button"))
	check("a", "c", "b")
	s.step(time.Second, func(report map[string]any) {
		numbers([3]float64{1, 50, 60}, [3]float64{30, 9000, 1200})(report)
		report["queues"] = report["queues"].([]any)[:2]
	})
	require.Equal(t, []string{"c", "b"}, table.names())
	s.requireNoComplaints()
}

// TestSelectedQueue checks that the page of one of several queues requests and
// shows that queue.
func TestSelectedQueue(t *testing.T) {
	var queues []shardq.Inspector
	for i, name := range []string{"first", "second & last"} {
		q := shardq.MustNew(shardq.Options[int]{Name: name})
		for n := range i + 1 {
			q.Add(n)
		}
		queues = append(queues, q)
	}
	s := newSteppedOf(t, debugpage.Options{Queues: queues}, "?queue=second+%26+last&rows=7", unchanged)
	require.Equal(t, "2", s.text(`.tile [data-value="gauges.ready"]`))
	s.step(time.Second, func(report map[string]any) { set(queueIn(report, 0), "gauges.ready", 1234) })
	require.Equal(t, "1,234", s.text(`.tile [data-value="gauges.ready"]`))
	require.Equal(t, "second & last", s.text("h1"))
	require.Contains(t, *s.asked.Load(), "queue=second+%26+last")
	require.Contains(t, *s.asked.Load(), "rows=7")
	require.Contains(t, *s.asked.Load(), "format=json")
	s.requireNoComplaints()
}
