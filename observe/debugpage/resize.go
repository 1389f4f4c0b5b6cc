package debugpage

import (
	"net/http"
	"reflect"

	"github.com/shardq/shardq"
)

// A Resizer has a number of workers that can change. A [worker.Pool] is one.
type Resizer interface {
	// Len returns the number of workers.
	Len() int
	// Resize changes it to n.
	Resize(n int)
}

// resizer returns the workers of a queue, or nil. It panics if Workers does.
func (o Options) resizer(queue shardq.Inspector) Resizer {
	if o.Workers == nil {
		return nil
	}
	workers := o.Workers(queue)
	// A map of pools has a nil pointer for a queue without a pool.
	if v := reflect.ValueOf(workers); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return workers
}

// resizeButton returns the button that resizes the workers of a queue. There is
// none if a function of the program panics.
func (h *handler) resizeButton(n named) (all []button) {
	defer func() {
		if fault := recover(); fault != nil {
			h.logPanic("Workers", fault)
		}
	}()
	workers := h.options.resizer(n.queue)
	if workers == nil {
		return nil
	}
	return []button{{Action: "resize", Title: "Resize", Field: "workers", Value: workers.Len(), Greatest: maxWorkers}}
}

func (t *target) resize() error {
	n, err := t.number("workers", 0, maxWorkers)
	if err != nil {
		return err
	}
	workers := t.options.resizer(t.queue.queue)
	if workers == nil {
		return refuse(http.StatusBadRequest, "this queue has no workers that can be resized: see debugpage.Options.Workers")
	}
	workers.Resize(n)
	return nil
}
