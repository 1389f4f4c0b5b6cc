package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

// settings are the lines with "with" and "together" of a scenario.
type settings struct {
	shards []int
	tick   time.Duration
	name   string
	// flags are options that are set by their names.
	flags        map[string]bool
	rate         shardq.Rate
	groupRates   map[string]shardq.Rate
	limiter      string
	capacity     int
	lowPriority  int
	groups       bool
	groupLimit   int
	groupWeights map[string]int
	watermarks   []int // low and high, or none
	stuckAfter   time.Duration
	// together has the items of each line with "together". They share a shard.
	together [][]string
}

// usualShards are the numbers of shards with which a scenario is replayed
// unless it says otherwise: one, which has client-go's order, the least number
// above one, a number that is no power of two, and a usual one.
var usualShards = []int{1, 2, 7, 32}

func newSettings() settings {
	return settings{
		shards: usualShards, flags: map[string]bool{}, groupRates: map[string]shardq.Rate{}, groupWeights: map[string]int{},
	}
}

// A setting is a kind of line with "with".
type setting struct {
	form string // of what follows, as that of a verb
	set  func(s *settings, c *command)
}

// settingsByName are the settings, but for the flags.
var settingsByName = map[string]setting{
	"shards":                {` ([\d ]+)`, func(s *settings, c *command) { s.shards = numbers(c.manner) }},
	"tick":                  {" DURATION", func(s *settings, c *command) { s.tick = c.duration }},
	"name":                  {" (.*)", func(s *settings, c *command) { s.name = c.manner }},
	"capacity":              {" NUMBER", func(s *settings, c *command) { s.capacity = c.count }},
	"low-priority-interval": {" NUMBER", func(s *settings, c *command) { s.lowPriority = c.count }},
	"groups":                {"", func(s *settings, _ *command) { s.groups = true }},
	"group-limit":           {" NUMBER", func(s *settings, c *command) { s.groups, s.groupLimit = true, c.count }},
	"group-weight":          {" GROUP NUMBER", func(s *settings, c *command) { s.groups, s.groupWeights[c.part] = true, c.count }},
	"group-rate":            {" GROUP RATE", func(s *settings, c *command) { s.groups, s.groupRates[c.part] = true, c.rate }},
	"rate":                  {" RATE", func(s *settings, c *command) { s.rate = c.rate }},
	"watermarks":            {` (\d+ \d+)`, func(s *settings, c *command) { s.watermarks = numbers(c.manner) }},
	"stuck-after":           {" DURATION", func(s *settings, c *command) { s.stuckAfter = c.duration }},
	"limiter":               {" (.*)", func(s *settings, c *command) { s.limiter = c.manner }},
}

var flags = []string{
	"CancelDelayOnAdd", "DropDelayIfReady", "KeepPlaces", "DiscardOnShutDown", "PrioritiesBeforeTurns",
	"KeepBackoff", "DrainProcessingOnly", "ages", "metrics",
}

// with reads what follows the word "with".
func (s *settings) with(text string) error {
	name, _, _ := strings.Cut(text, " ")
	if slices.Contains(flags, name) {
		s.flags[name] = true
		return nil
	}
	known, ok := settingsByName[name]
	if !ok {
		return fmt.Errorf("no setting %q", name)
	}
	var c command
	err := c.take(known.form, text[len(name):])
	if err == nil {
		known.set(s, &c)
	}
	return err
}

func numbers(text string) (all []int) {
	for word := range strings.FieldsSeq(text) {
		n, _ := strconv.Atoi(word)
		all = append(all, n)
	}
	return all
}

// groupOf returns the group of an item: the letters with which its name begins.
func groupOf(name string) string { return strings.TrimRight(name, "0123456789") }
