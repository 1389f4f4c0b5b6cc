package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/examples/internal/monitor"
)

// A controller is one run of the program.
type controller struct {
	config     config
	log        *log.Logger
	state      *state
	api        *api
	ledger     *ledger
	reconciler *reconciler
	queue      *shardq.Queue[Key]
	workers    *shardq.Workers[Key]
	monitor    *monitor.Monitor // nil without -listen
}

// newController opens the database, and sees to it that it has the objects. After an error
// nothing is left open.
func newController(config config, log *log.Logger) (*controller, error) {
	state, err := openState(config.database)
	if err != nil {
		return nil, fmt.Errorf("-db %s: %w", config.database, err)
	}
	c := &controller{config: config, log: log, state: state, ledger: newLedger()}
	c.api = &api{observe: state.observe, fail: config.fail, seed: config.seed, stuck: config.stuck, calls: map[Key]uint64{}}
	c.reconciler = &reconciler{state: state, api: c.api, ledger: c.ledger, log: log}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("-db %s: %w", config.database, err), state.database.Close())
	}
	c.queue = shardq.Must(c.queueOptions())
	c.workers, err = shardq.NewWorkers(c.queue, c.workerOptions())
	if err == nil {
		err = c.watch()
	}
	if err != nil {
		return nil, errors.Join(err, state.database.Close())
	}
	return c, nil
}

// watch serves what there is to see, if that is asked for.
func (c *controller) watch() (err error) {
	if c.config.listen == "" {
		return nil
	}
	if c.monitor, err = monitor.Start(c.config.listen, "controller", c.queue); err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	c.log.Printf("to be seen at %s", c.monitor.URL())
	return nil
}

// prepare makes the objects, and tells how they are.
func (c *controller) prepare() error {
	if err := c.createObjects(); err != nil {
		return err
	}
	now, err := prove(c.config.database)
	if err == nil {
		c.log.Printf("%d objects, %d of them not as they are desired", now.objects, now.astray)
	}
	return err
}

// run does the work until the duration or ctx is over, brings it to its end, proves it, and
// reports. It returns the exit code.
func (c *controller) run(ctx context.Context, stdout io.Writer) int {
	defer c.monitor.Close()
	start := time.Now()
	failure := c.work(ctx)
	elapsed := time.Since(start)
	proof, err := prove(c.config.database)
	report := report{c, elapsed, proof, errors.Join(failure, c.state.database.Close(), err)}
	return report.conclude(stdout)
}

// work begins with a list of all there is, and comes to an end with another.
func (c *controller) work(ctx context.Context) error {
	working, stopWorking := context.WithCancel(context.Background()) // ctx ends the changes alone
	var others sync.WaitGroup
	others.Go(func() { c.showProgress(working) })
	var left error
	others.Go(func() { left = c.workers.Run(working) })

	err := c.list(inInitialList)
	if err == nil {
		c.log.Printf("all of them are queued, and %d tenants change theirs", c.config.tenants+1)
		err = c.letTenantsWork(ctx)
	}
	// The API may have lost a write since the last resync: a last look at everything, which
	// stands for all further resyncs. They would go before it, for ever if they are more
	// than the workers can do.
	c.reconciler.ending.Store(true)
	c.api.honest.Store(true)
	err = errors.Join(err, c.list(inLastList))
	c.log.Printf("no more changes: a last look at %d objects, for %v at most", c.ledger.unsettled(), c.config.patience)
	stopWorking()
	others.Wait()
	if left != nil {
		left = fmt.Errorf("-patience %v: was over before %d objects came to rest: %w", c.config.patience, c.ledger.unsettled(), left)
	}
	return errors.Join(err, left)
}

// list queues all objects that there are, because nobody knows what happened before the
// start, and again before the end. They come in the background: an object that somebody
// changes meanwhile has the priority of the change, is moved forward, and comes once.
func (c *controller) list(cause cause) error {
	keys, err := c.state.keys()
	for _, key := range keys {
		c.ledger.list(key, cause)
		c.queue.AddWith(key, shardq.AddOptions{Priority: c.config.listPriority()})
	}
	return err
}

// showProgress tells every second how it is going, until ctx ends.
func (c *controller) showProgress(ctx context.Context) {
	for wait(ctx, time.Second) == nil {
		now := c.queue.Snapshot(1)
		longest := "nothing"
		for _, i := range now.Processing {
			longest = fmt.Sprintf("%v for %v", i.Item, now.Time.Sub(i.Since).Round(time.Millisecond))
		}
		c.log.Printf("%d ready, %d waiting, %d in processing, the longest is %s",
			now.Stats.Ready, now.Stats.Waiting, now.Stats.Processing, longest)
	}
}
