package traces

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A mismatch is a command whose outcome was not the expected one.
type mismatch struct {
	place         string // file:line
	command       string
	expected, got outcome
}

// check compares the outcomes of a replay with the expected ones.
func (s *scenario) check(outcomes []outcome, l layout) []mismatch {
	var found []mismatch
	for i, line := range s.commands {
		if !s.same(l, line.command, line.expected, outcomes[i]) {
			place := fmt.Sprintf("%s:%d", s.file, line.number)
			found = append(found, mismatch{place, line.text, line.expected, outcomes[i]})
		}
	}
	return found
}

// same compares two outcomes of a command. With more than one shard, it
// compares lists of items shard by shard, because the order between shards is
// open.
func (s *scenario) same(l layout, c *command, a, b outcome) bool {
	if l.shards > 1 {
		a, b = s.byShard(c, a), s.byShard(c, b)
	}
	return inline(a) == inline(b) && slices.Equal(below(a), below(b))
}

// byShard sorts the ordered lists of an outcome by shard. Items of one shard
// stay in order.
func (s *scenario) byShard(c *command, result outcome) outcome {
	result = slices.Clone(result)
	for i, text := range result {
		switch items, isReady := strings.CutPrefix(text, "ready: "); {
		case c.verb == "state" && isReady:
			result[i] = "ready: " + s.sortByShard(items)
		case (c.verb == "get" && c.manner == "all" || c.verb == "claim" && c.manner == "batch") && i == 0:
			result[i] = s.sortByShard(text)
		case (c.verb == "snapshot" || c.verb == "all") && i > 0:
			result[i] = s.sortRow(text)
		}
	}
	return result
}

// sortRow sorts the items of a row of a snapshot.
func (s *scenario) sortRow(text string) string {
	row, details, _ := strings.Cut(text, rowDetails)
	state, items, _ := strings.Cut(row, ": ")
	return state + ": " + s.sortByShard(items) + rowDetails + details
}

func (s *scenario) sortByShard(text string) string {
	names, err := expand(strings.Fields(text))
	if err != nil {
		return text // a wrong expectation
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(s.groups[a], s.groups[b]) })
	return list(names)
}

// String shows the expected outcome above the other.
func (m mismatch) String() string {
	return fmt.Sprintf("%s: %s\n\texpected%s%s\n\tgot     %s%s\n", m.place, m.command,
		arrow, strings.Join(m.expected, "\n\t\t"), arrow, strings.Join(m.got, "\n\t\t"))
}

// inline returns the text after the arrow.
func inline(o outcome) string {
	if len(o) == 0 || o[0] == "" {
		return "nothing"
	}
	return o[0]
}

// below returns the indented lines.
func below(o outcome) []string { return o[min(1, len(o)):] }
