//go:build !race

package shard

// underRace: what is slow runs less under the race detector.
const underRace = false
