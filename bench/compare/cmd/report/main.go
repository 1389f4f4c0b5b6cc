// Command report measures shardq beside the queues that people use, and writes
// a document with tables and plots.
//
//	go run ./cmd/report              the whole report, into docs/reference/benchmarks.md: most of an hour
//	go run ./cmd/report -quick       small sizes and few rounds, into a temporary directory
//	go run ./cmd/report -only LIST   some parts, into a temporary directory
//	go run ./cmd/report -cpu LIST    throughput against cores, into a temporary directory
//	go run ./cmd/report -out FILE    the plots go to the directory images beside FILE
//
// Everything that is compared runs in turn within each round, so that a
// disturbance of the machine affects all of it. While it works, the command
// prints each value in the format of Go benchmarks, which benchstat reads.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// usualOut is the path from bench/compare, where the command runs.
const usualOut = "../../docs/reference/benchmarks.md"

func main() {
	quick := flag.Bool("quick", false, "small sizes and few rounds: shows that it works, not how fast")
	out := flag.String("out", "", "the `file` to write (default "+usualOut+", or a temporary file with -quick or -only)")
	rounds := flag.Int("rounds", 0, "how often to measure everything (default 10, or 2 with -quick)")
	only := flag.String("only", "", "measure only the parts of this comma-separated `list`: "+strings.Join(partNames(), ", "))
	cpu := flag.String("cpu", "", "measure throughput with each number of processors of this comma-separated `list`, such as 1,2,4,8,16,32,64,"+
		" and nothing else unless -only names it")
	flag.Parse()
	if err := run(*quick, *rounds, *only, *cpu, *out); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(quick bool, rounds int, only, cpu, out string) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if rounds < 0 {
		return fmt.Errorf("-rounds is %d: want at least 1", rounds)
	}
	cpus, err := parseCPUs(cpu)
	if err != nil {
		return err
	}
	chosen, err := chooseParts(only, cpus)
	if err != nil {
		return err
	}
	if note := beyond(cpus, runtime.NumCPU()); note != "" {
		fmt.Fprintln(os.Stderr, "report:", note)
	}
	out, err = outputFile(quick || only != "" || cpus != nil, out)
	if err != nil {
		return err
	}
	r := newReport(chooseScale(quick, rounds), filepath.Join(filepath.Dir(out), "images"))
	r.cpus = cpus
	for _, p := range chosen {
		start := time.Now()
		p.measure(r)
		fmt.Fprintf(os.Stderr, "report: %s took %v\n", p.name, time.Since(start).Round(time.Second))
	}
	if err := r.write(out); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "report: wrote", out)
	return nil
}

// outputFile reports a fault of the output before most of an hour has passed. A
// part of the report overwrites the document only if -out says so.
func outputFile(partial bool, out string) (string, error) {
	if out == "" && partial {
		directory, err := os.MkdirTemp("", "shardq-report-")
		if err != nil {
			return "", err
		}
		out = filepath.Join(directory, "benchmarks.md")
	}
	if out == "" {
		out = usualOut
	}
	if err := os.MkdirAll(filepath.Join(filepath.Dir(out), "images"), 0o755); err != nil {
		return "", err
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	return out, file.Close()
}
