//go:build race

package stats

// underRace says that the race detector is on.
const underRace = true
