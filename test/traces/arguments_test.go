package traces

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/shardq/shardq"
)

// A value is what a word in capitals in the form of a verb stands for.
type value struct {
	pattern string
	take    func(c *command, text string) error
}

var values = map[string]value{
	"ITEM":     {`\S+`, takeItems},
	"ITEMS":    {`\S+(?: \S+)*?`, takeItems},
	"NAME":     {`\w+`, takeClaims},
	"OTHER":    {`\w+`, takeClaims},
	"NAMES":    {`\w+(?: \w+)*?`, takeClaims},
	"OPTIONS":  {`(?: (?:after|within|not-again|priority) \S+| (?:rate-limited|earliest|latest|new|old))*`, takeOptions},
	"WORKER":   {`\w+`, func(c *command, text string) error { c.worker = text; return nil }},
	"GROUP":    {`\w+`, func(c *command, text string) error { c.part = text; return nil }},
	"NUMBER":   {`-?\d+`, func(c *command, text string) (err error) { c.count, err = strconv.Atoi(text); return err }},
	"DURATION": {`\S+`, func(c *command, text string) (err error) { c.duration, err = parseDuration(text); return err }},
	"RATE": {`\S+(?: burst \S+)?`, func(c *command, text string) (err error) {
		c.rate, err = parseRate(strings.Fields(text))
		return err
	}},
}

var capitals = regexp.MustCompile(`[A-Z]{4,}`)

// take takes in the values in a text of a form.
func (c *command) take(form, text string) error {
	pattern := regexp.MustCompile("^(?:" + capitals.ReplaceAllStringFunc(form, func(word string) string {
		return "(?P<" + word + ">" + values[word].pattern + ")"
	}) + ")$")
	match := pattern.FindStringSubmatch(text)
	if match == nil {
		return fmt.Errorf("cannot read %q: want %s", text, form)
	}
	for i, word := range pattern.SubexpNames() {
		switch {
		case i == 0 || match[i] == "":
		case word == "":
			c.manner = strings.TrimSpace(match[i])
		default:
			if err := values[word].take(c, match[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func takeItems(c *command, text string) (err error) {
	c.items, err = expand(strings.Fields(text))
	return err
}

func takeClaims(c *command, text string) error {
	c.claims = append(c.claims, strings.Fields(text)...)
	c.count = len(c.claims)
	return nil
}

var policies = map[string]shardq.DelayPolicy{
	"earliest": shardq.KeepEarliest, "latest": shardq.KeepLatest, "new": shardq.KeepNew, "old": shardq.KeepOld,
}

// takeOptions takes in the options of an add. A single "after" or
// "rate-limited" is a call of its own. Everything else is AddWith.
func takeOptions(c *command, text string) (err error) {
	words, manner := strings.Fields(text), "with options"
	if text == " rate-limited" || len(words) == 2 && words[0] == "after" {
		manner = words[0]
	}
	c.manner = cmp.Or(c.manner, manner) // batch, or this
	for i, word := range words {
		var bad error
		switch word {
		case "after":
			c.options.After, bad = parseDuration(words[i+1])
		case "within":
			c.options.MaxWait, bad = parseDuration(words[i+1])
		case "not-again":
			c.options.NotAgainWithin, bad = parseDuration(words[i+1])
		case "priority":
			c.options.Priority, bad = strconv.Atoi(words[i+1])
		case "rate-limited":
			c.options.RateLimited = true
		case "earliest", "latest", "new", "old":
			c.options.Policy = policies[word]
		}
		err = errors.Join(err, bad)
	}
	return err
}
