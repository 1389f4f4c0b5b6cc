package document

import (
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine is where and when something was measured.
type Machine struct {
	Processor  string
	Cores      int
	Go, System string
	Date       string
	// Command is what to type for the same figures.
	Command string
	// Load is the load average of the minute before, "" if the system does not
	// tell.
	Load string
}

// DescribeMachine returns this machine, at this moment.
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

// processor returns the model's name where Linux tells it.
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
