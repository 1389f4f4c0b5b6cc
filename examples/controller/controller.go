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
	"github.com/shardq/shardq/worker"
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
	workers    *worker.Pool[Key]
	monitor    *monitor.Monitor // nil without -listen
}

// newController opens the database and prepares its objects. After an error
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
	c.queue = shardq.MustNew(c.queueOptions())
	c.workers, err = worker.New(c.queue, c.workerOptions())
	if err == nil {
		err = c.watch()
	}
	if err != nil {
		return nil, errors.Join(err, state.database.Close())
	}
	return c, nil
}

// watch starts the monitor, if there is an address.
func (c *controller) watch() (err error) {
	if c.config.listen == "" {
		return nil
	}
	if c.monitor, err = monitor.Start(c.config.listen, "controller", c.queue); err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	c.log.Printf("live page at %s", c.monitor.URL())
	return nil
}

// prepare creates the objects, and logs their state.
func (c *controller) prepare() error {
	if err := c.createObjects(); err != nil {
		return err
	}
	now, err := prove(c.config.database)
	if err == nil {
		c.log.Printf("%d objects, %d of them not in their desired state", now.objects, now.astray)
	}
	return err
}

// run works until the duration or ctx ends, drains the queue, proves the
// result, and reports. It returns the exit code.
func (c *controller) run(ctx context.Context, stdout io.Writer) int {
	defer c.monitor.Close()
	start := time.Now()
	failure := c.work(ctx)
	elapsed := time.Since(start)
	proof, err := prove(c.config.database)
	report := report{c, elapsed, proof, errors.Join(failure, c.state.database.Close(), err)}
	return report.conclude(stdout)
}

// work begins and ends with a list of all objects.
func (c *controller) work(ctx context.Context) error {
	working, stopWorking := context.WithCancel(context.Background()) // ctx ends only the changes
	var others sync.WaitGroup
	others.Go(func() { c.showProgress(working) })
	var left error
	others.Go(func() { left = c.workers.Run(working) })

	err := c.list(inInitialList)
	if err == nil {
		c.log.Printf("all objects are queued, and %d tenants change theirs", c.config.tenants+1)
		err = c.letTenantsWork(ctx)
	}
	// The API may have lost a write since the last resync. The last list checks
	// all objects, and replaces all further resyncs. They would go before it,
	// forever if they are more than the workers can process.
	c.reconciler.ending.Store(true)
	c.api.honest.Store(true)
	err = errors.Join(err, c.list(inLastList))
	c.log.Printf("no more changes: checking %d objects for the last time, for at most %v", c.ledger.unsettled(), c.config.patience)
	stopWorking()
	others.Wait()
	if left != nil {
		left = fmt.Errorf("-patience %v: ended before %d objects were settled: %w", c.config.patience, c.ledger.unsettled(), left)
	}
	return errors.Join(err, left)
}

// list adds all objects to the queue, at the start and before the end, because
// earlier events are unknown. They have a low priority. An object that changes
// meanwhile gets the priority of the change, moves forward, and runs once.
func (c *controller) list(cause cause) error {
	keys, err := c.state.keys()
	for _, key := range keys {
		c.ledger.list(key, cause)
		c.queue.AddWith(key, shardq.AddOptions{Priority: c.config.listPriority()})
	}
	return err
}

// showProgress logs the progress every second until ctx ends.
func (c *controller) showProgress(ctx context.Context) {
	for wait(ctx, time.Second) == nil {
		now := c.queue.Snapshot(1)
		longest := "nothing"
		for _, i := range now.Processing {
			longest = fmt.Sprintf("%v for %v", i.Item, now.Time.Sub(i.Since).Round(time.Millisecond))
		}
		c.log.Printf("%d ready, %d delayed, %d in flight, the longest is %s",
			now.Stats.Ready, now.Stats.Delayed, now.Stats.Processing, longest)
	}
}
