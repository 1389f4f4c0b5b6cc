package main

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine is where and when the cases were tried.
type machine struct {
	Processor  string
	Cores      int
	Go, System string
	Date       string
	Command    string
	// Load is the load average of the minute before, "" if the system does not
	// tell.
	Load string
}

func describeMachine() machine {
	return machine{
		Processor: processor(),
		Cores:     runtime.GOMAXPROCS(0),
		Go:        runtime.Version(),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		Date:      time.Now().Format(time.DateOnly),
		Command:   command(),
		Load:      load(),
	}
}

// command returns what to type for the same figures: where they were written to makes
// no difference to them.
func command() string {
	text := "go run -C bench/compare ./cmd/adversary"
	for _, name := range []string{"only", "targets", "scale", "rounds", "limit"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			text += " -" + name + " " + f.Value.String()
		}
	}
	return text
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
