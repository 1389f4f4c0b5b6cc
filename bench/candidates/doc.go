// Package candidates holds the designs that shardq did not take, as far as it takes
// to measure them beside the one that it did. docs/internals/decisions has the figures, and
// for each of them the command that gives it.
//
//	go test -short -bench . ./bench/candidates
//
// There is nothing here for programs to use: all of it is test code. The rejected
// queues keep the promises about items that matter to speed (a test holds them to
// that), and lack the rest: delays, drains, bounds on memory.
package candidates
