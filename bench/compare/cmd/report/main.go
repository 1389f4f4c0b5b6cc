// Command report measures shardq beside client-go, controller-runtime, a
// channel and the heap design, and prints a table.
//
//	go run ./cmd/report                  everything: most of an hour
//	go run ./cmd/report -only 'Closed|AddAfter'
//
// All engines run in turn within each round. A cell has the median, the least
// and the greatest value of the rounds, and the median of the rounds' ratios to
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
	fmt.Printf("%s, %d processors, %s, %s, medians of %d rounds in turns: `go run -C bench/compare ./cmd/report %s`\n\n",
		processor(), runtime.GOMAXPROCS(0), runtime.Version(), time.Now().Format(time.DateOnly), *rounds, strings.Join(os.Args[1:], " "))
	write(*rounds, chosen)
}

func write(rounds int, chosen *regexp.Regexp) {
	all := append(compare.All(), engine.Floor(1<<20)) // the columns
	header := "| work | unit |"
	for _, e := range all {
		header += fmt.Sprintf(" %s, %d |", e.Name, e.Shards)
	}
	header += "\n|---|---|" + strings.Repeat("---:|", len(all)) + "\n"
	for _, bm := range suite.All() {
		if chosen.MatchString(bm.Name) {
			fmt.Print(header)
			header = ""
			fmt.Println(row(bm, all, measure(bm, all, rounds)))
		}
	}
	for _, pair := range suite.Scaling() {
		if chosen.MatchString(pair.One.Name) {
			writeScaling(pair, rounds)
		}
	}
}

// writeScaling writes the time of an operation by the wall clock, with the processor
// time in brackets.
func writeScaling(pair suite.Pair, rounds int) {
	all := compare.SideBySide()
	figures := make([]struct{ one, oneUsed, all, allUsed, ratio []float64 }, len(all))
	for range rounds {
		for i, e := range all {
			if pair.One.Takes(e) {
				one, oneUsed := run(pair.One, e)
				both, bothUsed := run(pair.All, e)
				f := &figures[i]
				f.one, f.oneUsed = append(f.one, one), append(f.oneUsed, oneUsed)
				f.all, f.allUsed = append(f.all, both), append(f.allUsed, bothUsed)
				f.ratio = append(f.ratio, one/both)
			}
		}
	}
	fmt.Printf("\n| %s | one goroutine, ns | %d, ns | times as fast |\n|---|---:|---:|---:|\n", strings.TrimSuffix(pair.One.Name, "/goroutines=1"), runtime.GOMAXPROCS(0))
	for i, f := range figures {
		if len(f.one) > 0 {
			fmt.Printf("| %s | %.0f (%.0f) | %.0f (%.0f) | %.2f (%.2f–%.2f) |\n", all[i].Name,
				median(f.one), median(f.oneUsed), median(f.all), median(f.allUsed), median(f.ratio), slices.Min(f.ratio), slices.Max(f.ratio))
		}
	}
}

func run(bm suite.Benchmark, e workload.Engine) (wall, used float64) {
	r := benchmark(bm, e)
	return float64(r.T.Nanoseconds()) / float64(r.N), r.Extra["cpu-ns/op"]
}

func benchmark(bm suite.Benchmark, e workload.Engine) testing.BenchmarkResult {
	set("test.benchtime", fmt.Sprintf("%dx", bm.N))
	runtime.GC()
	return testing.Benchmark(func(b *testing.B) { bm.Run(b, e) })
}

func measure(bm suite.Benchmark, all []workload.Engine, rounds int) [][]float64 {
	figures := make([][]float64, len(all))
	for range rounds {
		for i, e := range all {
			if !bm.Takes(e) {
				continue
			}
			r := benchmark(bm, e)
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
