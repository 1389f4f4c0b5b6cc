package traces

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

// What can follow a verb: one function for each form.

func parseNothing(_ *command, _ *settings, words []string) error {
	if len(words) > 0 {
		return fmt.Errorf("nothing can follow, got %q", strings.Join(words, " "))
	}
	return nil
}

func parseItems(c *command, s *settings, words []string) (err error) {
	if c.batch { // which may have an item twice
		c.items, err = expand(words)
	} else {
		c.items, err = s.names(words)
	}
	if err == nil && len(c.items) == 0 {
		err = fmt.Errorf("which item?")
	}
	return err
}

func parseItem(c *command, s *settings, words []string) error {
	if err := parseItems(c, s, words); err != nil {
		return err
	}
	if len(c.items) > 1 {
		return fmt.Errorf("want one item, got %d", len(c.items))
	}
	return nil
}

func parseAdd(c *command, s *settings, words []string) error {
	if len(words) > 1 && words[0] == "batch" {
		c.batch = true
		err := parseAdd(c, s, words[1:])
		c.manner = "batch"
		return err
	}
	if n := len(words); n > 2 && words[n-1] == "context" {
		return parseAddContext(c, s, words)
	}
	end := slices.IndexFunc(words, func(word string) bool { return addWords[word] != nil })
	if end <= 0 { // the first word is an item, even if it is one of addWords
		return parseItems(c, s, words)
	}
	if err := parseAddOptions(c, words[end:]); err != nil {
		return err
	}
	return parseItems(c, s, words[:end])
}

// addWords are the words that can follow the items of an add. A duration
// follows some of them.
var addWords = map[string]func(o *shardq.AddOptions, d time.Duration){
	"priority":     func(*shardq.AddOptions, time.Duration) {}, // with a number: see parsePriority
	"after":        func(o *shardq.AddOptions, d time.Duration) { o.After = d },
	"within":       func(o *shardq.AddOptions, d time.Duration) { o.MaxWait = d },
	"not-again":    func(o *shardq.AddOptions, d time.Duration) { o.NotAgainWithin = d },
	"rate-limited": func(o *shardq.AddOptions, _ time.Duration) { o.RateLimited = true },
	"earliest":     func(o *shardq.AddOptions, _ time.Duration) { o.Policy = shardq.KeepEarliest },
	"latest":       func(o *shardq.AddOptions, _ time.Duration) { o.Policy = shardq.KeepLatest },
	"new":          func(o *shardq.AddOptions, _ time.Duration) { o.Policy = shardq.KeepNew },
	"old":          func(o *shardq.AddOptions, _ time.Duration) { o.Policy = shardq.KeepOld },
}

// parseAddOptions reads the words after the items. A single "after" or
// "rate-limited" is a call of its own. Everything else is AddWith.
func parseAddOptions(c *command, words []string) error {
	c.manner = "with options"
	if words[0] == "rate-limited" && len(words) == 1 || words[0] == "after" && len(words) == 2 {
		c.manner = words[0]
	}
	for len(words) > 0 {
		if words[0] == "priority" {
			if err := parsePriority(c, words[1:]); err != nil {
				return err
			}
			words = words[2:]
			continue
		}
		set, d := addWords[words[0]], time.Duration(0)
		if set == nil {
			return fmt.Errorf("cannot add %q", words[0])
		}
		if words[0] == "after" || words[0] == "within" || words[0] == "not-again" {
			if words = words[1:]; len(words) == 0 {
				return fmt.Errorf("how long?")
			}
			var err error
			if d, err = parseDuration(words[0]); err != nil {
				return err
			}
		}
		set(&c.options, d)
		words = words[1:]
	}
	return nil
}

func parsePriority(c *command, words []string) (err error) {
	if len(words) == 0 {
		return fmt.Errorf("what priority?")
	}
	c.options.Priority, err = strconv.Atoi(words[0])
	return err
}

// parseAddContext reads an item and "with context".
func parseAddContext(c *command, s *settings, words []string) error {
	c.manner = strings.Join(words[1:], " ")
	if !slices.Contains([]string{"with context", "with ended context"}, c.manner) {
		return fmt.Errorf("one item is added with a context")
	}
	return parseItem(c, s, words[:1])
}

func parseGet(c *command, _ *settings, words []string) (err error) {
	c.manner = strings.Join(words, " ")
	if !slices.Contains([]string{"", "all", "with context", "with ended context"}, c.manner) {
		return fmt.Errorf("cannot get %q", c.manner)
	}
	if c.manner == "all" && c.worker != "" {
		return fmt.Errorf("one worker gets one item, not all")
	}
	return nil
}

// parseLoop reads nothing, or the way in which a worker leaves its loop.
func parseLoop(c *command, s *settings, words []string) error {
	if c.worker == "" {
		return fmt.Errorf("which worker?")
	}
	c.manner = next
	if c.verb != "leave" {
		return parseNothing(c, s, words)
	}
	if len(words) != 2 || words[0] != "by" || !slices.Contains(lastTurns, words[1]) {
		return fmt.Errorf("want one of %s", strings.Join(lastTurns, ", "))
	}
	c.manner = words[1]
	return nil
}

func parseDrain(c *command, _ *settings, words []string) error {
	c.manner = strings.Join(words, " ")
	if _, ok := drainManners[c.manner]; !ok && c.manner != "" {
		return fmt.Errorf("cannot drain %q", c.manner)
	}
	if c.worker != "" && c.manner == "" {
		return fmt.Errorf("a ShutDownWithDrain has no context that could be canceled")
	}
	return nil
}

// parseSnapshot reads a limit.
func parseSnapshot(c *command, _ *settings, words []string) (err error) {
	if len(words) != 1 {
		return fmt.Errorf("how many of each state?")
	}
	c.count, err = strconv.Atoi(words[0])
	return err
}

func parseAll(c *command, _ *settings, words []string) error {
	c.manner = strings.Join(words, " ")
	if _, ok := itemStates[c.manner]; !ok {
		return fmt.Errorf("want one of %s", strings.Join(slices.Sorted(maps.Keys(itemStates)), ", "))
	}
	return nil
}

func parseAwait(c *command, s *settings, words []string) (err error) {
	if len(words) != 4 || words[1] != "within" || words[3] != "gets" {
		return fmt.Errorf("want an item and a number of gets")
	}
	if c.count, err = strconv.Atoi(words[2]); err != nil {
		return err
	}
	return parseItem(c, s, words[:1])
}

func parseCancel(c *command, s *settings, words []string) error {
	if len(words) == 2 && words[0] == "worker" {
		c.worker = words[1]
		return nil
	}
	return parseItem(c, s, words)
}

func parseStep(c *command, _ *settings, words []string) (err error) {
	if len(words) != 1 {
		return fmt.Errorf("how far?")
	}
	c.duration, err = parseDuration(words[0])
	return err
}

// parseTry reads an item and the options of its add.
func parseTry(c *command, s *settings, words []string) error {
	if err := parseAdd(c, s, words); err != nil || len(c.items) == 1 {
		return err
	}
	return fmt.Errorf("want one item, got %d", len(c.items))
}

// parsePause reads nothing, or "group NAME [for DURATION]".
func parsePause(c *command, _ *settings, words []string) (err error) {
	switch {
	case len(words) == 0:
		return nil
	case words[0] == "group" && len(words) == 4 && words[2] == "for":
		c.duration, err = parseDuration(words[3])
	case words[0] != "group" || len(words) != 2:
		err = fmt.Errorf("which group?")
	}
	if err == nil {
		c.part = words[1]
	}
	return err
}

// parseRateOf reads "group NAME" if it is there, and a rate.
func parseRateOf(c *command, _ *settings, words []string) (err error) {
	if len(words) > 2 && words[0] == "group" {
		c.part, words = words[1], words[2:]
	}
	c.rate, err = parseRate(words)
	return err
}
