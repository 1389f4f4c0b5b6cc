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

// longest is how much of a reason is printed.
const longest = 160

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
	if r.outcome == atFault || len(r.reason) <= longest {
		return r.reason
	}
	return r.reason[:longest] + "…"
}

// A row is what the table of the documents has of a mutant.
type row struct{ mutant, text string }

func (r result) row() row {
	by := r.outcome.String()
	if r.outcome == killedByCheck {
		by = "`" + strings.Join(r.tests, "` `") + "`"
	}
	return row{r.title(), fmt.Sprintf("| %s | %s | %s | %s | %s | %.1fs |\n",
		strings.Join(r.clauses, " "), r.title(), r.mistake, by, r.within(), r.verdict.Seconds())}
}

// clause returns the number of the first clause that the mutant breaks.
func (r row) clause() (n int) {
	fmt.Sscanf(r.text, "| C%d", &n)
	return n
}

func (r row) killed() bool { return strings.HasPrefix(strings.Split(r.text, " | ")[3], "`") }

func rowsOf(results []result) (rows []row) {
	for _, r := range results {
		rows = append(rows, r.row())
	}
	return rows
}

// markdown returns the table of the documents for the results of one run.
func markdown(results []result, took time.Duration) string {
	return tableOf(rowsOf(results), len(results), took)
}

// tableOf returns the table, a row for each mutant, in the order of the clauses that they break,
// and says how many of the rows are of the last run.
func tableOf(rows []row, last int, took time.Duration) string {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.clause(), b.clause()) })
	var b strings.Builder
	killed := 0
	for _, r := range rows {
		if r.killed() {
			killed++
		}
	}
	fmt.Fprintf(&b, "%d of %d killed, each when it was last tried. The last run renewed %d rows in %v: `go run ./test/mutants`, %s, %d processors, %s.\n\n",
		killed, len(rows), last, took.Round(time.Second), runtime.Version(), runtime.NumCPU(), time.Now().Format(time.DateOnly))
	b.WriteString("*In* is how long the first of the tests took to fail, *verdict* how long it was from the patch to the verdict, " +
		"with compiling.\n\n")
	b.WriteString("| breaks | mutant | mistake | killed by | in | verdict |\n|---|---|---|---|---:|---:|\n")
	for _, r := range rows {
		b.WriteString(r.text)
	}
	return b.String()
}

// The table stands between these marks.
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

// renew puts the results into the table between the marks of a file. Rows of mutants that are
// not among them stay as they are, and those of mutants that are no more go.
func renew(file string, all []mutant, results []result, took time.Duration) error {
	before, table, after, err := cutAtMarks(file)
	if err != nil {
		return err
	}
	known := map[string]row{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			name := strings.TrimSpace(cells[2])
			known[name] = row{name, line}
		}
	}
	for _, r := range rowsOf(results) {
		known[r.mutant] = r
	}
	var rows []row
	for _, m := range all {
		if r, ok := known[m.title()]; ok {
			rows = append(rows, r)
		}
	}
	return os.WriteFile(file, []byte(before+beginMark+"\n"+tableOf(rows, len(results), took)+"\n"+endMark+after), 0o644)
}
