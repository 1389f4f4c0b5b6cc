//go:build race

package harness

import "runtime"

// raceDetector says whether this program was built with it.
const raceDetector = true

// raceErrors returns how many data races the detector has reported so far.
func raceErrors() int { return runtime.RaceErrors() }
