package main

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
)

// queueNames are the queues that a trial can compare.
var queueNames = []string{"client-go", "controller-runtime", "shardq", "shardq-groups"}

type (
	request  = reconcile.Request
	limiter  = workqueue.TypedRateLimiter[request]
	anyQueue = workqueue.TypedRateLimitingInterface[request]
)

// newQueueOf returns the function that makes a queue. Its adds are timed.
func newQueueOf(name string, workers int, adds *timings) (func(string, limiter) anyQueue, error) {
	switch name {
	case "client-go":
		return func(name string, l limiter) anyQueue {
			config := workqueue.TypedRateLimitingQueueConfig[request]{Name: name}
			return timedQueue{workqueue.NewTypedRateLimitingQueueWithConfig(l, config), adds}
		}, nil
	case "controller-runtime":
		return func(name string, l limiter) anyQueue {
			return timedPriorities{priorityqueue.New(name, func(o *priorityqueue.Opts[request]) { o.RateLimiter = l }), adds}
		}, nil
	case "shardq", "shardq-groups":
		var options kubernetes.Options[request]
		if name == "shardq-groups" {
			options.Queue = shardq.Options[request]{Group: kubernetes.ByNamespace, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: max(1, workers/2)} }}
		}
		newQueue := kubernetes.NewQueue(options)
		return func(name string, l limiter) anyQueue {
			return timedPriorities{newQueue(name, l).(priorityqueue.PriorityQueue[request]), adds}
		}, nil
	}
	return nil, fmt.Errorf("no queue %q: want some of %s", name, strings.Join(queueNames, ", "))
}

// A timedQueue times the adds of a queue without priorities.
type timedQueue struct {
	anyQueue
	adds *timings
}

func (q timedQueue) Add(item request) {
	start := time.Now()
	q.anyQueue.Add(item)
	q.adds.add(time.Since(start))
}

// timedPriorities times the adds of a queue with priorities.
type timedPriorities struct {
	priorityqueue.PriorityQueue[request]
	adds *timings
}

func (q timedPriorities) AddWithOpts(o priorityqueue.AddOpts, items ...request) {
	start := time.Now()
	q.PriorityQueue.AddWithOpts(o, items...)
	q.adds.add(time.Since(start))
}

func (q timedPriorities) Add(item request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }
