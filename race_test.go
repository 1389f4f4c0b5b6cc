//go:build race

package shardq_test

// raceDetector tells that this binary was built with -race.
const raceDetector = true
