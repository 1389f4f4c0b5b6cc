package kubernetes

import (
	"net/http"
	"slices"
	"sync"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
)

// pages has the queues of this process that were not shut down, in the order in
// which they were made.
var pages pageList

type pageList struct {
	mu     sync.Mutex
	queues []shardq.Inspector
}

func (r *pageList) add(q shardq.Inspector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues = append(r.queues, q)
}

func (r *pageList) remove(q shardq.Inspector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues = slices.DeleteFunc(r.queues, func(other shardq.Inspector) bool { return other == q })
}

func (r *pageList) list() []shardq.Inspector {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.queues)
}

// Path is where the live page is mounted, by convention.
const Path = "/debug/workqueue"

// Handler serves a live page about the queues of this package that were not
// shut down. Mount it on the metrics server of a manager, behind its
// authentication:
//
//	Metrics: metricsserver.Options{
//		SecureServing:  true,
//		FilterProvider: filters.WithAuthenticationAndAuthorization,
//		ExtraHandlers:  map[string]http.Handler{kubernetes.Path: kubernetes.Handler()},
//	}
//
// It answers everyone who can reach it.
func Handler() http.Handler {
	page, err := debugpage.New(debugpage.Options{List: pages.list, Allow: func(*http.Request) bool { return true }})
	if err != nil {
		panic(err) // the options are constant
	}
	return page
}
