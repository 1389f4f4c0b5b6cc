// Command report measures shardq beside client-go, controller-runtime, a
// channel and the heap design, and prints a table.
//
//	go run ./cmd/report                  everything: most of an hour
//	go run ./cmd/report -quick           small sizes and two rounds: shows that it works
//	go run ./cmd/report -only 'Closed|AddAfter'
//
// All engines run in turn within each round. A cell is the median of the rounds
// with the least and the greatest value, and the median of the rounds' ratios to
// client-go.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	_ "k8s.io/client-go/util/workqueue"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	_ "github.com/shardq/shardq" // as users do: the compiler inlines what a direct import exports
	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
)

func main() {
	testing.Init()
	quick := flag.Bool("quick", false, "small sizes and two rounds")
	rounds := flag.Int("rounds", 10, "how often to measure everything")
	only := flag.String("only", ".", "a regular `expression` for the names of the benchmarks")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	switch {
	case err != nil:
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case *rounds < 1:
		err = fmt.Errorf("-rounds is %d: want at least 1", *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(2)
	}
	if *quick {
		*rounds = min(*rounds, 2)
		set("test.short", "true")
	}
	fmt.Printf("%s, %d processors, %s, %s, medians of %d rounds in turns: `go run -C bench/compare ./cmd/report %s`\n\n",
		processor(), runtime.GOMAXPROCS(0), runtime.Version(), time.Now().Format(time.DateOnly), *rounds, strings.Join(os.Args[1:], " "))
	write(*rounds, *quick, chosen)
}

func write(rounds int, quick bool, chosen *regexp.Regexp) {
	all := append(compare.All(), engine.Floor(1<<20)) // the columns
	header := "| work | unit |"
	for _, e := range all {
		header += fmt.Sprintf(" %s, %d |", e.Name, e.Shards)
	}
	fmt.Println(header)
	fmt.Println("|---|---|" + strings.Repeat("---:|", len(all)))
	for _, bm := range suite.All() {
		if chosen.MatchString(bm.Name) {
			fmt.Println(row(bm, all, measure(bm, all, rounds, quick)))
		}
	}
}

func measure(bm suite.Benchmark, all []workload.Engine, rounds int, quick bool) [][]float64 {
	n := bm.N
	if quick {
		n = max(1, n/20)
	}
	set("test.benchtime", fmt.Sprintf("%dx", n))
	figures := make([][]float64, len(all))
	for range rounds {
		for i, e := range all {
			if !bm.Takes(e) {
				continue
			}
			runtime.GC()
			r := testing.Benchmark(func(b *testing.B) { bm.Run(b, e) })
			if value, ok := r.Extra[bm.Metric]; ok {
				figures[i] = append(figures[i], value)
			} else if r.N > 0 && bm.Metric == "ns/op" {
				figures[i] = append(figures[i], float64(r.T.Nanoseconds())/float64(r.N))
			}
		}
	}
	return figures
}

func row(bm suite.Benchmark, all []workload.Engine, figures [][]float64) string {
	peer := figures[slices.IndexFunc(all, func(e workload.Engine) bool { return e.Name == "client-go" })]
	text := fmt.Sprintf("| %s | %s |", bm.Name, bm.Metric)
	for i := range all {
		text += " " + cell(figures[i], peer) + " |"
	}
	return text
}

func cell(values, peer []float64) string {
	if len(values) == 0 {
		return "–"
	}
	text := fmt.Sprintf("%.4g (%.4g–%.4g)", median(values), slices.Min(values), slices.Max(values))
	if len(peer) != len(values) || median(values) == 0 {
		return text
	}
	ratios := make([]float64, len(values))
	for i := range values {
		ratios[i] = peer[i] / values[i]
	}
	return fmt.Sprintf("%s, %.2f ×", text, median(ratios))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unnamed processor"
}
