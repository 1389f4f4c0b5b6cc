package workload

import "fmt"

// A Request is a key of two strings, as controllers use it. controller-runtime
// calls it reconcile.Request.
type Request struct{ Namespace, Name string }

// Strings returns n different keys of 30 bytes:
// "namespace-0007/object-00001234". Each has its own memory, as keys that a
// program has read have.
func Strings(n int) []string {
	return build(n, func(i int) string {
		return fmt.Sprintf("namespace-%04d/object-%08d", i%1000, i)
	})
}

// Requests returns n different keys of two strings, of 29 bytes together.
func Requests(n int) []Request {
	return build(n, func(i int) Request {
		return Request{fmt.Sprintf("namespace-%04d", i%1000), fmt.Sprintf("object-%08d", i)}
	})
}

// Integers returns n different keys that are spread over all of uint64.
func Integers(n int) []uint64 {
	const golden = 0x9E3779B97F4A7C15 // odd, so i*golden is different for every i
	return build(n, func(i int) uint64 { return uint64(i) * golden })
}

func build[T any](n int, key func(i int) T) []T {
	keys := make([]T, n)
	for i := range keys {
		keys[i] = key(i)
	}
	return keys
}
