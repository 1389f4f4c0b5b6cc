// Command controller keeps the observed state of some thousand objects as it is desired,
// by way of an API that is slow and fails. It is a reconciler such as those of Kubernetes,
// small enough to be read at one sitting, and shows what each feature of the queue is for.
//
//	tenants --change--> desired (SQLite) --key--> queue --> workers --reconcile--> API --> observed (SQLite)
//
// It is level-triggered: what is queued is the key of an object, not what happened to it.
// Whoever gets a key reads what is desired and what is observed at that moment, and makes
// the one like the other. So any number of changes of an object, while it waits, are one
// call of the API, and nothing is lost with the queue: a list of all objects brings it back.
//
// Read queue.go first, then reconcile.go and controller.go. At the end the program proves
// that every object is as it is desired, or was refused for good. Run it with -h for its flags.
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
	exitProven   = 0   // all is as desired, or was refused, also after an interrupt
	exitFailed   = 1   // something is not, or the patience was over before
	exitUnusable = 2   // a flag or the database: nothing was done
	exitAborted  = 130 // a second interrupt
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], signals, os.Stdout, os.Stderr))
}

// run is the whole program: the report goes to stdout, all else to stderr. It returns the
// exit code.
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

// supervise runs the controller. The first signal ends the changes, the second everything:
// it leaves the controller's goroutines to the end of the process.
func supervise(c *controller, signals <-chan os.Signal, stdout io.Writer) int {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	finished := make(chan int, 1)
	go func() { finished <- c.run(ctx, stdout) }()
	select {
	case code := <-finished:
		return code
	case received := <-signals:
		c.log.Printf("%v: no more changes; %d objects are waited for, for %v at most; once more stops at once",
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
