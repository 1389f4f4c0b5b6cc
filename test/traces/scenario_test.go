package traces

import "slices"

// A scenario is a sequence of commands on a queue of its own.
type scenario struct {
	file     string
	number   int // of its first line
	tags     []string
	title    string
	settings settings
	commands []*line

	// items are the items of the commands, each once, by their canonical names.
	items []string
	// groups has a number for each item. Only items that are together share a
	// number.
	groups map[string]int
}

// complete sets items and groups.
func (s *scenario) complete() {
	s.groups = map[string]int{}
	for group, names := range s.settings.together {
		for _, name := range names {
			s.groups[name] = group
		}
	}
	next := len(s.settings.together)
	for _, l := range s.commands {
		for _, name := range l.command.items {
			if slices.Contains(s.items, name) {
				continue
			}
			s.items = append(s.items, name)
			if _, ok := s.groups[name]; !ok {
				s.groups[name] = next
				next++
			}
		}
	}
}

// ordered reports whether all items are in one shard, so that their order is
// strict.
func (s *scenario) ordered() bool {
	if slices.Equal(s.settings.shards, []int{1}) {
		return true
	}
	if s.settings.groups {
		return !slices.ContainsFunc(s.items, func(item string) bool { return groupOf(item) != groupOf(s.items[0]) })
	}
	for _, group := range s.groups {
		if group != s.groups[s.items[0]] {
			return false
		}
	}
	return true
}
