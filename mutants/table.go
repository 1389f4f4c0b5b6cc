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

// markdown returns the table of the documents: a row for each mutant, in the order of
// the clauses that they break.
func markdown(results []result, took time.Duration) string {
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b result) int {
		return cmp.Compare(number(a.clauses[0]), number(b.clauses[0]))
	})
	var b strings.Builder
	killed := 0
	for _, r := range sorted {
		if r.outcome == killedByCheck {
			killed++
		}
	}
	fmt.Fprintf(&b, "%d of %d killed in %v: `go run ./mutants`, %s, %d processors, %s.\n\n",
		killed, len(sorted), took.Round(time.Second), runtime.Version(), runtime.NumCPU(), time.Now().Format(time.DateOnly))
	b.WriteString("*In* is how long the first of the tests took to fail, *verdict* how long it was from the patch to the verdict, " +
		"with compiling.\n\n")
	b.WriteString("| breaks | mutant | mistake | killed by | in | verdict |\n|---|---|---|---|---:|---:|\n")
	for _, r := range sorted {
		by := r.outcome.String()
		if r.outcome == killedByCheck {
			by = "`" + strings.Join(r.tests, "` `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.1fs |\n",
			strings.Join(r.clauses, " "), r.title(), r.mistake, by, r.within(), r.verdict.Seconds())
	}
	return b.String()
}

// number returns the number of a clause.
func number(clause string) (n int) {
	fmt.Sscanf(clause, "C%d", &n)
	return n
}

// The table stands between these marks.
const (
	beginMark = "<!-- mutants -->\n"
	endMark   = "<!-- /mutants -->"
)

func checkMarks(file string) error {
	_, _, err := cutAtMarks(file)
	return err
}

func cutAtMarks(file string) (before, after string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	before, rest, begins := strings.Cut(string(text), beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return "", "", fmt.Errorf("%s does not have the marks %s and %s", file, strings.TrimSpace(beginMark), endMark)
	}
	return before, after, nil
}

// renew puts the table between the marks of a file.
func renew(file, table string) error {
	before, after, err := cutAtMarks(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+beginMark+"\n"+table+"\n"+endMark+after), 0o644)
}
