//go:build !race

package harness

// raceDetector reports whether this program was built with the race detector.
const raceDetector = false

// raceErrors returns 0, because data races are not detected.
func raceErrors() int { return 0 }
