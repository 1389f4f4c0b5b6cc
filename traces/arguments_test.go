package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What can follow a verb: one function for each form.

func parseNothing(_ *command, _ *settings, words []string) error {
	if len(words) > 0 {
		return fmt.Errorf("nothing can follow, got %q", strings.Join(words, " "))
	}
	return nil
}

func parseItems(c *command, s *settings, words []string) (err error) {
	c.items, err = s.names(words)
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

func parseWhen(c *command, s *settings, words []string) error {
	if s.limiter == "" {
		return fmt.Errorf("the limiter can be asked only if the scenario names it: with limiter")
	}
	return parseItem(c, s, words)
}

func parseAdd(c *command, s *settings, words []string) (err error) {
	n := len(words)
	switch {
	case n > 1 && words[n-1] == "rate-limited":
		c.manner, words = "rate-limited", words[:n-1]
	case n > 2 && words[n-2] == "after":
		c.manner = "after"
		if c.duration, err = parseDuration(words[n-1]); err != nil {
			return err
		}
		words = words[:n-2]
	}
	return parseItems(c, s, words)
}

func parseGet(c *command, _ *settings, words []string) error {
	c.manner = strings.Join(words, " ")
	if !slices.Contains([]string{"", "all", "with context", "with ended context"}, c.manner) {
		return fmt.Errorf("cannot get %q", c.manner)
	}
	if c.manner == "all" && c.worker != "" {
		return fmt.Errorf("one worker gets one item, not all")
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

func parseCancel(c *command, _ *settings, words []string) error {
	if len(words) != 2 || words[0] != "worker" {
		return fmt.Errorf("which worker?")
	}
	c.worker = words[1]
	return nil
}

func parseStep(c *command, _ *settings, words []string) (err error) {
	if len(words) != 1 {
		return fmt.Errorf("how far?")
	}
	c.duration, err = parseDuration(words[0])
	return err
}

func parsePiece(c *command, s *settings, words []string) error {
	if len(words) != 1 || !slices.Contains(pieces, words[0]) {
		return fmt.Errorf("want one of %s", strings.Join(pieces, ", "))
	}
	c.part = words[0]
	if c.part == "limiter" && s.limiter == "" {
		return fmt.Errorf("the limiter can break only if the scenario names it: with limiter")
	}
	return nil
}
