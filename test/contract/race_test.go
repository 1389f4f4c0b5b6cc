//go:build race

package contract

// raceDetector tells that this binary was built with -race.
const raceDetector = true
