// Package expvars publishes the stats of queues as variables of package expvar,
// beside memstats, at /debug/vars. It is separate from package shardq because
// importing expvar adds that page to http.DefaultServeMux.
//
// A variable is an object with the stats of each queue by its name:
//
//	{"invoices": {"Shards": 32, "Ready": 3, ..., "Metrics": {"Depth": 3, "WorkDuration": {"Count": 17, ...}}}}
//
// For a [coalesce.Coalescer], publish its Coalescer.Queue. As in memstats,
// names are those of the Go fields, and durations are in nanoseconds.
package expvars

import (
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/shardq/shardq"
)

// publishing makes the check of a name and its publication one step.
var publishing sync.Mutex

// Publish publishes the stats of queues under a name, such as "queues". The
// variable, and with it the queues, stays until the program ends.
//
// Publish returns an error, and publishes nothing, if the name is taken or
// [Func] returns an error. Of several concurrent calls with one name, one
// succeeds.
func Publish(name string, queues ...shardq.Inspector) error {
	stats, err := Func(queues...) // first, because it calls methods of the queues
	if err != nil {
		return err
	}
	publishing.Lock()
	defer publishing.Unlock()
	if expvar.Get(name) != nil {
		return fmt.Errorf("expvars: the name %q is published already", name)
	}
	expvar.Publish(name, stats)
	return nil
}

// Func returns a variable with the stats of queues, to be published or put into
// an expvar.Map. If the clock or the limiter of a queue panics, the queue has
// only the member "error".
//
// Func returns an error if a queue is nil, two queues have the same name, or a
// name is not valid UTF-8.
func Func(queues ...shardq.Inspector) (expvar.Func, error) {
	named := make(map[string]shardq.Inspector, len(queues))
	for _, queue := range queues {
		if queue == nil {
			return nil, errors.New("expvars: a queue is nil")
		}
		if !utf8.ValidString(queue.Name()) {
			return nil, fmt.Errorf("expvars: the name %q is not valid UTF-8", queue.Name())
		}
		if named[queue.Name()] != nil {
			return nil, fmt.Errorf("expvars: two queues have the name %q", queue.Name())
		}
		named[queue.Name()] = queue
	}
	return func() any {
		all := make(map[string]json.RawMessage, len(named))
		for name, queue := range named {
			all[name] = statsOf(queue)
		}
		return all
	}, nil
}

// statsOf returns the stats of a queue, or an object with an error: the queue's
// clock or limiter may panic, or JSON may not be able to encode its time.
func statsOf(queue shardq.Inspector) (text json.RawMessage) {
	fault := func(why any) json.RawMessage {
		text, _ := json.Marshal(map[string]string{"error": fmt.Sprint(why)})
		return text
	}
	defer func() {
		if r := recover(); r != nil {
			text = fault(r)
		}
	}()
	text, err := json.Marshal(queue.Stats())
	if err != nil {
		return fault(err)
	}
	return text
}
