// Command cores reports how often an item moves a cache line between cores, and
// what that means on machines with up to 128 of them. It writes
// docs/reference/cores.md.
//
//	go run ./cmd/cores                    measures, and writes ../../docs/reference/cores.md: half a minute
//	go run ./cmd/cores -quick             the same in little time, into a temporary directory
//	go run ./cmd/cores -own 300,160,290,400,190 takes the own work as given: see -help
//	go run ./cmd/cores -out FILE          the plots go to the directory images beside FILE
//
// The counts are those of bench/sharedwrites/counts.json, which that package's
// test makes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// usualOut is the path from bench/compare, where the command runs.
const usualOut = "../../docs/reference/cores.md"

func main() {
	quick := flag.Bool("quick", false, "short measurements: shows that it works")
	own := flag.String("own", "", "the own work of an item in nanoseconds, as a comma-separated `list`, in place of a measurement on one core: "+
		strings.Join(names[:], "; "))
	out := flag.String("out", "", "the `file` to write (default "+usualOut+", or a temporary file with -quick)")
	flag.Parse()
	if err := run(*quick, *own, *out); err != nil {
		fmt.Fprintln(os.Stderr, "cores:", err)
		os.Exit(1)
	}
}

func run(quick bool, own, out string) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	given, err := parseOwn(own)
	if err != nil {
		return err
	}
	if out, err = outputFile(quick, out); err != nil {
		return err
	}
	r := newReport(quick, given)
	if err := errors.Join(r.drawPlots(filepath.Join(filepath.Dir(out), "images")), r.write(out)); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "cores: wrote", out)
	return nil
}

func outputFile(quick bool, out string) (string, error) {
	if out == "" && quick {
		directory, err := os.MkdirTemp("", "shardq-cores-")
		if err != nil {
			return "", err
		}
		out = filepath.Join(directory, "cores.md")
	}
	if out == "" {
		out = usualOut
	}
	return out, os.MkdirAll(filepath.Join(filepath.Dir(out), "images"), 0o755)
}

// parseOwn parses the own work of the designs. It returns nil for an empty
// list.
func parseOwn(list string) (*measured, error) {
	if list == "" {
		return nil, nil
	}
	fields := strings.Split(list, ",")
	if len(fields) != designs {
		return nil, fmt.Errorf("-own has %d numbers: want %d", len(fields), designs)
	}
	var m measured
	for i, text := range fields {
		nanoseconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || nanoseconds <= 0 {
			return nil, fmt.Errorf("-own: %q is not a number of nanoseconds above 0", text)
		}
		m[i] = nanoseconds
	}
	return &m, nil
}

// newReport measures what is not given.
func newReport(quick bool, own *measured) *report {
	rounds, each, runs, exchanges := 7, 300*time.Millisecond, 20, 20_000
	if quick {
		rounds, each, runs, exchanges = 1, 20*time.Millisecond, 3, 2000
	}
	r := &report{Quick: quick, Measured: own == nil}
	r.describe()
	if own != nil {
		r.own = *own
	} else {
		r.own = measure(1, rounds, each)
	}
	if runtime.NumCPU() > 1 {
		r.Transfer = measureTransfer(runs, exchanges)
		onTwo := measure(2, rounds, each)
		r.onTwo = &onTwo
	}
	return r
}
