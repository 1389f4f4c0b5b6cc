package main

import (
	"fmt"
	"slices"
	"strings"
)

// hostile is a case: something that an adversary, or a bad day, does to a
// queue.
type hostile struct {
	name  string // for -only
	Title string
	Text  string // what is done, and what the rows say
	// seldom is set if one round takes long.
	seldom bool
	try    func(*bench, target) *figures
}

// cases are in the order of the document.
var cases = []hostile{
	{name: "collisions", Title: "One million keys that collide", Text: collisionsText, try: collisions},
	{name: "megabyte", Title: "Keys of a megabyte", Text: megabyteText, try: megabyteKeys},
	{name: "burst", Title: "Ten million items at once", Text: burstText, try: burst},
	{name: "deadline", Title: "Ten million items that are delayed until one moment", Text: deadlineText, seldom: true, try: oneDeadline},
	{name: "idle", Title: "Ten thousand idle queues", Text: idleText, seldom: true, try: idleQueues},
	{name: "parked", Title: "A hundred thousand parked Gets", Text: parkedText, try: parkedGets},
	{name: "stall", Title: "A stall of ten minutes", Text: stallText, try: stall},
}

func caseNames() (names []string) {
	for _, c := range cases {
		names = append(names, c.name)
	}
	return names
}

// choose returns the cases or targets that a comma-separated list names, or all
// for an empty one.
func choose[E any](flag, list string, all []E, names []string) (chosen []E, err error) {
	if list == "" {
		return all, nil
	}
	seen := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(names, name)
		switch {
		case i < 0:
			return nil, fmt.Errorf("%s: nothing is named %q: want some of %s", flag, name, strings.Join(names, ", "))
		case seen[name]:
			return nil, fmt.Errorf("%s: %q is there twice", flag, name)
		}
		seen[name] = true
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
