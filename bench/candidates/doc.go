// Package candidates has the designs that shardq did not take, as far as they
// are needed to measure them beside the one that it took.
// docs/internals/decisions has the figures, and for each the command that gives
// it.
//
//	go test -short -bench . ./bench/candidates
//
// The package has only test code, and nothing for programs to use. The rejected
// queues keep the promises about items that matter to speed, which a test
// checks. They lack the rest: delays, drains, bounds on memory.
package candidates
