// Command controller keeps the observed state of some thousand objects equal to
// the desired state, through an API that is slow and fails. It is a reconciler
// as in Kubernetes, short enough to read in one go, and shows the use of each
// feature of the queue.
//
//	tenants --change--> desired (SQLite) --key--> queue --> workers --reconcile--> API --> observed (SQLite)
//
// The controller is level-triggered: the queue has the keys of objects, not
// events. A worker reads the desired and the observed state of its object, and
// makes them equal. Any number of changes of a queued object therefore become
// one API call. Nothing is lost with the queue, because a list of all objects
// restores it.
//
// Read queue.go first, then reconcile.go and controller.go. At the end the
// program proves that every object is in its desired state, or was refused for
// good. Run it with -h for its flags.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// The exit codes.
const (
	exitProven   = 0   // every object is in its desired state or refused, also after an interrupt
	exitFailed   = 1   // an object is not, or the patience ended
	exitUnusable = 2   // a flag or the database is unusable: nothing was done
	exitAborted  = 130 // a second interrupt
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], signals, os.Stdout, os.Stderr))
}

// run is the whole program. The report goes to stdout, everything else to
// stderr. It returns the exit code.
func run(arguments []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	notices := log.New(stderr, "controller: ", 0)
	config, err := parseFlags(arguments, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitProven
	}
	if err == nil && config.database == "" {
		directory, err := os.MkdirTemp("", "controller-")
		if err != nil {
			notices.Print(err)
			return exitUnusable
		}
		defer os.RemoveAll(directory)
		config.database = filepath.Join(directory, "controller.db")
	}
	var c *controller
	if err == nil {
		c, err = newController(config, notices)
	}
	if err != nil {
		notices.Print(err)
		return exitUnusable
	}
	return supervise(c, signals, stdout)
}

// supervise runs the controller. The first signal ends the changes. The second
// ends everything, and leaves the controller's goroutines to the end of the
// process.
func supervise(c *controller, signals <-chan os.Signal, stdout io.Writer) int {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	finished := make(chan int, 1)
	go func() { finished <- c.run(ctx, stdout) }()
	select {
	case code := <-finished:
		return code
	case received := <-signals:
		c.log.Printf("%v: no more changes; waiting for %d objects, for at most %v; another signal stops at once",
			received, c.ledger.unsettled(), c.config.patience)
		interrupt()
	}
	select {
	case code := <-finished:
		return code
	case received := <-signals:
		c.log.Printf("%v again: stopped at once, nothing is proven", received)
		return exitAborted
	}
}
