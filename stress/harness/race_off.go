//go:build !race

package harness

// raceDetector says whether this program was built with it.
const raceDetector = false

// raceErrors returns 0: nobody looks for data races.
func raceErrors() int { return 0 }
