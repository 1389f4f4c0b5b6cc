//go:build trial

package main

import (
	"fmt"
	"strings"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
)

var queueNames = []string{"client-go", "controller-runtime", "shardq", "shardq-groups"}

type (
	request  = reconcile.Request
	limiter  = workqueue.TypedRateLimiter[request]
	anyQueue = workqueue.TypedRateLimitingInterface[request]
)

func newQueueOf(name string, workers int) (func(string, limiter) anyQueue, error) {
	switch name {
	case "client-go":
		return func(name string, l limiter) anyQueue {
			return workqueue.NewTypedRateLimitingQueueWithConfig(l, workqueue.TypedRateLimitingQueueConfig[request]{Name: name})
		}, nil
	case "controller-runtime":
		return func(name string, l limiter) anyQueue {
			return priorityqueue.New(name, func(o *priorityqueue.Opts[request]) { o.RateLimiter = l })
		}, nil
	case "shardq":
		return kubernetes.NewQueue(kubernetes.Options[request]{}), nil
	case "shardq-groups":
		return kubernetes.NewQueue(kubernetes.Options[request]{
			Queue: shardq.Options[request]{Group: kubernetes.ByNamespace, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: max(1, workers/2)} }},
		}), nil
	}
	return nil, fmt.Errorf("no queue %q: want some of %s", name, strings.Join(queueNames, ", "))
}
