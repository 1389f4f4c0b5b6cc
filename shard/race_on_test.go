//go:build race

package shard

// underRace reports that the race detector is on. Slow tests do less then.
const underRace = true
