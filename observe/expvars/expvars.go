// Package expvars publishes the stats of queues as variables of package expvar, beside
// memstats, at /debug/vars. It is apart from package shardq since whoever imports expvar has
// that page on http.DefaultServeMux.
//
// A variable is an object that has a member for each queue, by its name, with what
// [shardq.Queue.Stats] says:
//
//	{"invoices": {"Shards": 32, "Ready": 3, ..., "Metrics": {"Depth": 3, "WorkDuration": {"Count": 17, "P50": 1203400, ...}}}}
//
// Of a [shardq.Coalescer], its Coalescer.Queue is to be published: what is pending is in the member Values.
// As in memstats, the names are those of the fields in Go, and durations are in nanoseconds.
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

// publishing makes one step of the look whether a name is taken and of its publication.
var publishing sync.Mutex

// Publish publishes the stats of queues under a name, such as "queues", until the program ends:
// package expvar knows no way to take a variable back, and so the queues are kept. It returns an error, and
// publishes nothing, if the name is taken, or if two queues have the same name, or there is another fault
// that Func has an error for. It is safe for concurrent use: of several that want a name one gets it.
// Where others publish that name by package expvar itself at the same moment, one of the two calls panics.
func Publish(name string, queues ...shardq.Observable) error {
	stats, err := Func(queues...) // first, since it calls the queues
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

// Func returns a variable with the stats of queues, for whoever publishes it or has it within
// an expvar.Map. Each look at it calls Stats of each queue; of one whose clock or limiter panics, it
// has the member "error" alone. It returns an error if two queues have the same name, or a name is not valid UTF-8.
func Func(queues ...shardq.Observable) (expvar.Func, error) {
	named := make(map[string]shardq.Observable, len(queues))
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

// statsOf returns the stats of a queue, or an object that says why there are none: the queue's clock
// or limiter may panic, or its clock be beyond what JSON can say. The page has other variables to show.
func statsOf(queue shardq.Observable) (text json.RawMessage) {
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
