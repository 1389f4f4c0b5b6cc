// Command adversary tries shardq on the cases that break queues: keys that
// collide, keys of a megabyte, ten million items at once, ten million deadlines
// at one moment, thousands of idle queues, a hundred thousand parked consumers,
// a process that stood still. It does the same to client-go's workqueue and,
// where that takes no hours, to controller-runtime's priority queue. It reports
// what each took: time, memory, and how long others waited.
//
//	go run ./cmd/adversary                   all cases at their full size: some minutes, up to 4 GiB
//	go run ./cmd/adversary -only LIST        some cases
//	go run ./cmd/adversary -targets LIST     some queues
//	go run ./cmd/adversary -scale 0.01       a hundredth of the items, where that is enough of them
//	go run ./cmd/adversary -markdown FILE    writes the tables to a file, too
//	go run ./cmd/adversary -update FILE      puts them between two marks in a document
//
// The exit status is 1 if shardq breaks one of its promises, or is stopped
// after -limit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	err := run()
	switch {
	case errors.Is(err, errBroken), errors.Is(err, errUnfinished):
		fmt.Fprintln(os.Stderr, "adversary:", err)
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "adversary:", err)
		os.Exit(2)
	}
}

// errBroken says that the cases ran, and that shardq broke a promise.
var errBroken = errors.New("shardq broke a promise")

// errUnfinished says that it is unknown whether shardq would have kept its
// promises, because it was too slow, or would never have ended.
var errUnfinished = errors.New("shardq was stopped after -limit")

func run() error {
	var (
		only     = flag.String("only", "", "try the cases of this comma-separated `list` only: "+strings.Join(caseNames(), ", "))
		chosen   = flag.String("targets", strings.Join(targetNames(), ","), "the queues to try them on, a comma-separated `list`")
		scale    = flag.Float64("scale", 1, "the `share` of the items of each case")
		rounds   = flag.Int("rounds", 0, "how often to try each case (default 3, or 2 where it takes long)")
		limit    = flag.Duration("limit", 3*time.Minute, "how long a queue may take for a piece of a case")
		markdown = flag.String("markdown", "", "write the tables to this `file`")
		update   = flag.String("update", "", "put the tables into this `file`, between "+beginMark+" and "+endMark)
	)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	b := bench{scale: *scale, rounds: *rounds, limit: *limit, progress: os.Stderr}
	if err := b.validate(); err != nil {
		return err
	}
	cases, err := choose("-only", *only, cases, caseNames())
	if err != nil {
		return err
	}
	targets, err := choose("-targets", *chosen, targets(), targetNames())
	if err != nil {
		return err
	}
	partial := len(cases) < len(caseNames()) || len(targets) < len(targetNames()) || b.scale != 1
	if err := checkFiles(*markdown, *update, partial); err != nil {
		return err
	}
	return write(b.try(cases, targets), *markdown, *update)
}

// checkFiles reports a fault of the files to write, before some minutes have
// passed.
func checkFiles(markdown, update string, partial bool) error {
	if update != "" && partial {
		return errors.New("-update takes all cases, on all queues, at their full size: leave out -only, -targets and -scale")
	}
	if err := findMarks(update); err != nil {
		return err
	}
	for _, name := range []string{markdown, update} {
		if name == "" {
			continue
		}
		file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		file.Close()
	}
	return nil
}

// write prints the document, and writes it to the files of the flags.
func write(r *results, markdown, update string) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	fmt.Print(text)
	if markdown != "" {
		err = errors.Join(err, os.WriteFile(markdown, []byte(text), 0o644))
	}
	if update != "" {
		err = errors.Join(err, replaceBetweenMarks(update, text))
	}
	if r.broken() {
		err = errors.Join(err, errBroken)
	}
	if r.unfinished() {
		err = errors.Join(err, errUnfinished)
	}
	return err
}
