package main

import (
	"fmt"
	"slices"
	"strings"
)

// part is a part of the report, which measures one thing and writes a section.
type part struct {
	name    string
	measure func(*report)
}

// parts are in the order of the document.
var parts = []part{
	{"cycle", serialCycle},
	{"closed", closedTraffic},
	{"open", openTraffic},
	{"after", rescheduling},
	{"delayed", delayedCycle},
	{"lateness", lateness},
	{"timers", bareTimers},
	{"limiters", limiters},
	{"allocations", allocations},
	{"memory", memory},
	{"collector", collector},
	{"order", order},
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// chooseParts returns the parts of a comma-separated list, or all for an empty
// one. With numbers of processors to compare, it adds the part that does so, or
// returns only that for an empty list.
func chooseParts(list string, cpus []int) (chosen []part, err error) {
	if cpus != nil {
		defer func() { chosen = append(chosen, part{"cores", cores}) }()
	}
	if list == "" && cpus != nil {
		return nil, nil
	}
	if list == "" {
		return parts, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(partNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("-only: no part is named %q: want some of %s", name, strings.Join(partNames(), ", "))
		}
		chosen = append(chosen, parts[i])
	}
	return chosen, nil
}
