//go:build trial

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// times are how long the phases took, by queue.
type times struct {
	phases []string // in order
	took   map[[2]string][]time.Duration
}

func (t *times) add(phase, queue string, took time.Duration) {
	if !slices.Contains(t.phases, phase) {
		t.phases = append(t.phases, phase)
	}
	if t.took == nil {
		t.took = map[[2]string][]time.Duration{}
	}
	key := [2]string{phase, queue}
	t.took[key] = append(t.took[key], took)
	slices.Sort(t.took[key])
}

// print writes a table of the least, the median and the most.
func (t *times) print(to io.Writer, queues []string) {
	fmt.Fprintf(to, "| | %s |\n|---%s|\n", strings.Join(queues, " | "), strings.Repeat("|---:", len(queues)))
	for _, phase := range t.phases {
		fmt.Fprintf(to, "| %s", phase)
		for _, queue := range queues {
			took := t.took[[2]string{phase, queue}]
			fmt.Fprintf(to, " | %.1f / %.1f / %.1f s", took[0].Seconds(), took[len(took)/2].Seconds(), took[len(took)-1].Seconds())
		}
		fmt.Fprintln(to, " |")
	}
}
