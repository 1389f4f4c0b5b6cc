package document

import (
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine describes where and when a measurement was made.
type Machine struct {
	Processor  string
	Cores      int
	Go, System string
	Date       string
	// Command is the command that repeats the measurement.
	Command string
	// Load is the load average of the minute before, or "" if the system does
	// not report it.
	Load string
}

// DescribeMachine returns this machine at this moment.
func DescribeMachine(command string) Machine {
	return Machine{
		Processor: processor(),
		Cores:     runtime.GOMAXPROCS(0),
		Go:        runtime.Version(),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		Date:      time.Now().Format(time.DateOnly),
		Command:   command,
		Load:      load(),
	}
}

// processor returns the model's name where Linux reports it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unnamed processor"
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
