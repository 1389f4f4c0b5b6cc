package traces

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
)

// settings are the lines with "with" and "together" of a scenario.
type settings struct {
	shards []int
	tick   time.Duration
	name   string
	// flags are options that are set by their names.
	flags         map[string]bool
	rate          shardq.Rate
	groupRates    map[string]shardq.Rate
	limiter       string
	capacity      int
	lowPriority   int
	groups        bool
	groupLimit    int
	groupWeights  map[string]int
	hasWatermarks bool
	low, high     int
	stuckAfter    time.Duration
	// together has the items of each line with "together". They share a shard.
	together [][]string
}

// usualShards are the numbers of shards with which a scenario is replayed
// unless it says otherwise: one, which has client-go's order, the least number
// above one, a number that is no power of two, and a usual one.
var usualShards = []int{1, 2, 7, 32}

func newSettings() settings {
	return settings{shards: usualShards, flags: map[string]bool{}, groupRates: map[string]shardq.Rate{}}
}

// with reads what follows the word "with".
func (s *settings) with(text string) (err error) {
	what, value, _ := strings.Cut(text, " ")
	switch what {
	case "shards":
		return s.withShards(strings.Fields(value))
	case "tick":
		return withDuration(value, &s.tick)
	case "name":
		s.name = value
		return nil
	case "capacity":
		return s.withNumbers(value, &s.capacity)
	case "low-priority-interval":
		return s.withNumbers(value, &s.lowPriority)
	case "groups":
		s.groups = true
		return nil
	case "group-limit":
		s.groups = true
		return s.withNumbers(value, &s.groupLimit)
	case "group-weight":
		return s.withGroupWeight(value)
	case "group-rate":
		group, text, _ := strings.Cut(value, " ")
		s.groups = true
		s.groupRates[group], err = parseRate(strings.Fields(text))
		return err
	case "rate":
		s.rate, err = parseRate(strings.Fields(value))
		return err
	case "watermarks":
		s.hasWatermarks = true
		return s.withNumbers(value, &s.low, &s.high)
	case "stuck-after":
		return withDuration(value, &s.stuckAfter)
	case "limiter":
		s.limiter = value
		_, err = newLimiter(value, limiter.Options{})
		return err
	case "CancelDelayOnAdd", "DropDelayIfReady", "KeepPlaces", "DiscardOnShutDown", "PrioritiesBeforeTurns",
		"KeepBackoff", "DrainProcessingOnly", "ages", "metrics":
		s.flags[what] = true
		return nil
	}
	return fmt.Errorf("no setting %q", what)
}

func (s *settings) withGroupWeight(text string) error {
	group, number, _ := strings.Cut(text, " ")
	weight := 0
	if err := s.withNumbers(number, &weight); err != nil {
		return err
	}
	if s.groups = true; s.groupWeights == nil {
		s.groupWeights = map[string]int{}
	}
	s.groupWeights[group] = weight
	return nil
}

// groupOf returns the group of an item: the letters with which its name begins.
func groupOf(name string) string { return strings.TrimRight(name, "0123456789") }

func (s *settings) withShards(words []string) error {
	s.shards = nil
	for _, word := range words {
		shards, err := strconv.Atoi(word)
		if err != nil || shards < 1 {
			return fmt.Errorf("%s is no number of shards", word)
		}
		s.shards = append(s.shards, shards)
	}
	if len(s.shards) == 0 {
		return fmt.Errorf("with how many shards?")
	}
	return nil
}

func withDuration(word string, setting *time.Duration) (err error) {
	*setting, err = parseDuration(word)
	return err
}

// withNumbers reads one number for each setting.
func (s *settings) withNumbers(text string, settings ...*int) (err error) {
	words := strings.Fields(text)
	if len(words) != len(settings) {
		return fmt.Errorf("want %s, got %q", number(len(settings), "number"), text)
	}
	for i, word := range words {
		if *settings[i], err = strconv.Atoi(word); err != nil {
			return fmt.Errorf("%s is no number", word)
		}
	}
	return nil
}
