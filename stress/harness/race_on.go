//go:build race

package harness

import "runtime"

// raceDetector reports whether this program was built with the race detector.
const raceDetector = true

// raceErrors returns the number of data races that the detector has reported.
func raceErrors() int { return runtime.RaceErrors() }
