// Command controller keeps the observed state of some thousand objects equal to
// the desired state, through an API that is slow and fails. Four tenants change
// an object now and then, and at half time one more floods the queue. At last
// every object is in its desired state, or the program says so.
//
// The part of the queue is controller.go. Run it with -h for its flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
)

const (
	tenants   = 5  // with the one that floods
	mostNamed = 20 // of the objects that are not in their desired state
)

var stuckKey = key{"tenant-1", "object-7"}

type config struct {
	duration, patience, stuck time.Duration
	objects, workers, flood   int
	fail                      float64
	listen                    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns 1 if an object is not as desired, and 2 if a flag is unusable.
func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	var o config
	flags := flag.NewFlagSet("controller", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&o.duration, "duration", 8*time.Second, "the time during which the tenants change their objects")
	flags.DurationVar(&o.patience, "patience", 15*time.Second, "the longest time of the drain afterwards")
	flags.IntVar(&o.objects, "objects", 500, "the number of objects of each tenant; the one that floods has ten times as many")
	flags.IntVar(&o.workers, "workers", 16, "the number of workers")
	flags.IntVar(&o.flood, "flood", 20_000, "the number of changes that the flooding tenant makes at half the duration")
	flags.Float64Var(&o.fail, "fail", 0.05, "the `share` of API calls that fail, 0 to 1")
	flags.DurationVar(&o.stuck, "stuck", 0, "the time of the first call for "+stuckKey.String()+", which ignores its timeout")
	flags.StringVar(&o.listen, "listen", "", "the `address` of a live page during the run, such as 127.0.0.1:6060")
	logger, c := log.New(stderr, "controller: ", 0), (*controller)(nil)
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = o.validate(flags.Args())
	}
	if err == nil {
		c, err = newController(o, logger)
	}
	if err == nil && o.listen != "" {
		err = serve(o.listen, c.queue, logger)
	}
	if err != nil {
		logger.Print(err)
		return 2
	}
	if err := c.work(ctx); err != nil {
		logger.Print(err)
	}
	return c.report(stdout)
}

func (o config) validate(arguments []string) error {
	switch {
	case o.stuck < 0:
		return fmt.Errorf("-stuck is %v: want 0 (nothing hangs) or more", o.stuck)
	case o.objects < 1 || o.workers < 1 || o.flood < 0:
		return fmt.Errorf("-objects is %d, -workers %d and -flood %d: want 1, 1 and 0 or more", o.objects, o.workers, o.flood)
	case o.patience <= 0 || o.duration <= 0:
		return fmt.Errorf("-patience is %v and -duration %v: want more than 0", o.patience, o.duration)
	case !(o.fail >= 0 && o.fail <= 1):
		return fmt.Errorf("-fail is %v: want 0 to 1", o.fail)
	case len(arguments) > 0:
		return fmt.Errorf("unknown argument %q: want only flags", arguments[0])
	}
	return nil
}

func serve(address string, queue shardq.Inspector, logger *log.Logger) error {
	page, err := debugpage.New(debugpage.Options{Title: "controller", Queues: []shardq.Inspector{queue}})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err == nil {
		logger.Printf("live page at http://%v/", listener.Addr())
		go func() { _ = (&http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second}).Serve(listener) }()
	}
	return err
}

func (c *controller) work(ctx context.Context) error {
	for tenant := range tenants {
		for i := range c.objects(tenant) {
			c.list(objectOf(tenant, i))
		}
	}
	working, stopWorking := context.WithCancel(context.Background())
	defer stopWorking()
	ended := make(chan error, 1)
	go func() { ended <- c.run(working) }()
	ctx, cancel := context.WithTimeout(ctx, c.config.duration)
	defer cancel()
	flood, progress, changes := time.After(c.config.duration/2), time.Tick(time.Second), time.Tick(10*time.Millisecond)
	for ctx.Err() == nil {
		select {
		case <-changes:
			for tenant := 1; tenant < tenants; tenant++ {
				c.change(c.object(tenant))
			}
		case <-flood:
			for range c.config.flood {
				c.change(c.object(0))
			}
		case <-progress:
			now := c.queue.Stats()
			c.log.Printf("%d ready, %d in flight, %d delayed", now.Ready, now.Processing, now.Delayed)
		case <-ctx.Done():
		}
	}
	c.log.Printf("no more changes: waiting for at most %v", c.config.patience)
	c.ending.Store(true)
	stopWorking()
	return <-ended
}

// Tenant 0 floods.
func (c *controller) object(tenant int) key { return objectOf(tenant, rand.IntN(c.objects(tenant))) }

func (c *controller) objects(tenant int) int {
	if tenant == 0 {
		return 10 * c.config.objects
	}
	return c.config.objects
}

func objectOf(tenant, n int) key {
	name := "flood"
	if tenant > 0 {
		name = fmt.Sprintf("tenant-%d", tenant)
	}
	return key{name, fmt.Sprintf("object-%d", n)}
}

func (c *controller) report(stdout io.Writer) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	astray := []string{}
	for k, generation := range c.desired {
		if c.observed[k] != generation {
			astray = append(astray, k.String())
		}
	}
	slices.Sort(astray)
	fmt.Fprintf(stdout, "%d changes of %d objects became %d calls, of which %d failed and %d hung\n",
		c.changes.Load(), len(c.desired), c.calls.Load(), c.failures.Load(), c.stuck.Load())
	fmt.Fprintf(stdout, "%d objects are not in their desired state; %d times two workers had one object\n", len(astray), c.overlaps.Load())
	for _, name := range astray[:min(len(astray), mostNamed)] {
		fmt.Fprintf(stdout, "not in its desired state: %s\n", name)
	}
	if more := len(astray) - mostNamed; more > 0 {
		fmt.Fprintf(stdout, "and %d more\n", more)
	}
	if len(astray) > 0 || c.overlaps.Load() > 0 {
		return 1
	}
	return 0
}
