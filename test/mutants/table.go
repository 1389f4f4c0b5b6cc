package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

func printList(mutants []mutant) {
	for _, m := range mutants {
		fmt.Printf("%-45s %-8s %s\n    %s\n", m.name, strings.Join(m.clauses, " "), m.check, m.mistake)
	}
}

// longestReason is the number of bytes of a reason that are printed.
const longestReason = 160

func (r result) print(verbose bool) {
	fmt.Printf("%-8s %7s of %5.1fs  %s (%s)\n",
		r.outcome, r.within(), r.verdict.Seconds(), r.name, strings.Join(r.clauses, " "))
	if verbose || r.outcome == survived {
		fmt.Printf("    %s\n", r.mistake)
	}
	if verbose && r.by != "" {
		fmt.Printf("    %s\n", r.by)
	}
	if r.outcome != survived {
		fmt.Printf("    %s\n", strings.TrimSpace(strings.Join(r.tests, ", ")+": "+r.shortReason()))
	}
	if r.wider {
		fmt.Printf("    not by its own check, which is %s\n", r.check)
	}
}

// within returns the test's own time, or a dash if none failed.
func (r result) within() string {
	switch {
	case r.outcome != killedByCheck:
		return "–"
	case r.own < time.Millisecond:
		return "<1ms"
	}
	return r.own.Round(time.Millisecond).String()
}

func (r result) shortReason() string {
	if r.outcome == atFault || len(r.reason) <= longestReason {
		return r.reason
	}
	return r.reason[:longestReason] + "…"
}

// A row is the row of a mutant in the table of the documents.
type row struct {
	mutant
	// killedBy, within and verdict are the last three cells.
	killedBy, within, verdict string
}

func (r result) row() row {
	by := r.outcome.String()
	if r.outcome == killedByCheck {
		by = "`" + strings.Join(r.tests, "` `") + "`"
	}
	return row{r.mutant, by, r.within(), fmt.Sprintf("%.1fs", r.verdict.Seconds())}
}

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n",
		strings.Join(r.clauses, " "), r.title(), r.mistake, r.killedBy, r.within, r.verdict)
}

// clause returns the number of the first clause that the mutant breaks.
func (r row) clause() (n int) {
	fmt.Sscanf(r.clauses[0], "C%d", &n)
	return n
}

func (r row) killed() bool { return strings.HasPrefix(r.killedBy, "`") }

func rowsOf(results []result) (rows []row) {
	for _, r := range results {
		rows = append(rows, r.row())
	}
	return rows
}

// readRows returns the rows of a table, by the titles of their mutants. The
// rows have only the last three cells. Their mutants may be gone.
func readRows(table string) map[string]row {
	rows := map[string]row{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 6 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		last := cells[len(cells)-3:]
		rows[cells[1]] = row{killedBy: last[0], within: last[1], verdict: last[2]}
	}
	return rows
}

// markdown returns the table of the documents for the results of one run.
func markdown(results []result, took time.Duration) string {
	return tableOf(rowsOf(results), len(results), took)
}

// tableOf returns the table. Its rows are in the order of the clauses. Last is
// the number of rows of the last run.
func tableOf(rows []row, last int, took time.Duration) string {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.clause(), b.clause()) })
	var b strings.Builder
	killed := 0
	for _, r := range rows {
		if r.killed() {
			killed++
		}
	}
	fmt.Fprintf(&b, "%d of %d killed, each when it was last tried. The last run tried %d in %v:\n"+
		"`go run ./test/mutants`, %s, %d processors, %s.\n\n",
		killed, len(rows), last, took.Round(time.Second), runtime.Version(), runtime.NumCPU(), time.Now().Format(time.DateOnly))
	b.WriteString("*In* is the time that the first of the tests took to fail. *Verdict* is the\n" +
		"time from the patch to the verdict, including compiling.\n\n")
	b.WriteString("| breaks | mutant | mistake | killed by | in | verdict |\n|---|---|---|---|---:|---:|\n")
	for _, r := range rows {
		b.WriteString(r.String())
	}
	return b.String()
}

// The marks of the table in a document.
const (
	beginMark = "<!-- mutants -->\n"
	endMark   = "<!-- /mutants -->"
)

func checkMarks(file string) error {
	_, _, _, err := cutAtMarks(file)
	return err
}

func cutAtMarks(file string) (before, table, after string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", "", err
	}
	before, rest, begins := strings.Cut(string(text), beginMark)
	table, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return "", "", "", fmt.Errorf("%s does not have the marks %s and %s", file, strings.TrimSpace(beginMark), endMark)
	}
	return before, table, after, nil
}

// renew updates the table between the marks of a file. A mutant without a
// result keeps the outcome of its row. Rows of deleted mutants go.
func renew(file string, all []mutant, results []result, took time.Duration) error {
	before, table, after, err := cutAtMarks(file)
	if err != nil {
		return err
	}
	known := readRows(table)
	for _, r := range rowsOf(results) {
		known[r.title()] = r
	}
	var rows []row
	for _, m := range all {
		if r, ok := known[m.title()]; ok {
			r.mutant = m
			rows = append(rows, r)
		}
	}
	return os.WriteFile(file, []byte(before+beginMark+"\n"+tableOf(rows, len(results), took)+"\n"+endMark+after), 0o644)
}
