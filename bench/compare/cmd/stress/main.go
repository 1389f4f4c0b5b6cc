// Stress tests client-go's work queue and controller-runtime's priority queue
// with the checks that ./stress makes of shardq:
//
//	go run -C bench/compare -race ./cmd/stress -target client-go -survey
package main

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/shardq/shardq/stress/harness"
)

func main() {
	harness.Command{
		Module:  "bench/compare",
		Package: "./cmd/stress",
		Targets: targets(),
	}.Exit()
}

func targets() []harness.Target {
	return []harness.Target{clientGo(), controllerRuntime(), harness.Shardq()}
}

func clientGo() harness.Target {
	return harness.Target{
		Name:     "client-go",
		Features: harness.Features{CallersLimiter: true, ExactLen: true},
		Ints:     openClientGo[int], Strings: openClientGo[string],
		Pairs: openClientGo[harness.Pair], Anys: openClientGo[any],
	}
}

func openClientGo[T comparable](s harness.Settings[T]) harness.Typed[T] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.TypedRateLimiter[T](s.Limiter))
}

func controllerRuntime() harness.Target {
	return harness.Target{
		Name: "controller-runtime",
		Ints: openControllerRuntime[int], Strings: openControllerRuntime[string],
		Pairs: openControllerRuntime[harness.Pair], Anys: openControllerRuntime[any],
	}
}

func openControllerRuntime[T comparable](s harness.Settings[T]) harness.Typed[T] {
	return priorityqueue.New("", func(o *priorityqueue.Opts[T]) { o.RateLimiter = s.Limiter })
}
