//go:build !race

package contract

// raceDetector says that this binary was built with -race.
const raceDetector = false
