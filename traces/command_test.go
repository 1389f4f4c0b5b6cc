package traces

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A command is a line that does something to the queue, or asks it something.
type command struct {
	verb     string
	manner   string // a word that changes what the verb does: all, after, rate-limited, with context
	items    []string
	duration time.Duration
	count    int
	part     string
	worker   string
	times    int
	// run is the verb's.
	run func(p *player, c *command) string
}

// A verb is a kind of command.
type verb struct {
	usage string
	// parse reads the words after the verb.
	parse func(c *command, s *settings, words []string) error
	// run does it, and returns what came of it at once.
	run func(p *player, c *command) string
}

// verbs returns every kind of command by its first word.
func verbs() map[string]verb {
	return map[string]verb{
		"add":           {"add ITEM... [after DURATION | rate-limited]", parseAdd, (*player).add},
		"get":           {"get [all | with context | with ended context]", parseGet, (*player).get},
		"await":         {"await ITEM within NUMBER gets", parseAwait, (*player).await},
		"cancel":        {"cancel worker NAME", parseCancel, (*player).cancel},
		"done":          {"done ITEM...", parseItems, (*player).done},
		"forget":        {"forget ITEM...", parseItems, (*player).forget},
		"requeues":      {"requeues ITEM", parseItem, (*player).requeues},
		"when":          {"when ITEM", parseWhen, (*player).when},
		"len":           {"len", parseNothing, (*player).len},
		"name":          {"name", parseNothing, (*player).name},
		"state":         {"state", parseNothing, nil}, // looked at from outside: see replay
		"timers":        {"timers", parseNothing, (*player).timers},
		"step":          {"step DURATION", parseStep, (*player).step},
		"shutdown":      {"shutdown", parseNothing, (*player).shutDown},
		"drain":         {"drain", parseNothing, (*player).drain},
		"shutting-down": {"shutting-down", parseNothing, (*player).shuttingDown},
		"break":         {"break PIECE", parsePiece, (*player).breakPiece},
		"mend":          {"mend PIECE", parsePiece, (*player).mendPiece},
	}
}

var (
	timesPrefix  = regexp.MustCompile(`^(\d+) times: `)
	workerPrefix = regexp.MustCompile(`^worker (\w+): `)
)

// parseCommand reads a line without what is expected of it.
func parseCommand(text string, s *settings) (*command, error) {
	c := &command{times: 1}
	if match := timesPrefix.FindStringSubmatch(text); match != nil {
		c.times, _ = strconv.Atoi(match[1])
		text = text[len(match[0]):]
	}
	if match := workerPrefix.FindStringSubmatch(text); match != nil {
		c.worker = match[1]
		text = text[len(match[0]):]
	}
	words := strings.Fields(text)
	c.verb = words[0]
	return c, c.parse(s, words[1:])
}

// parse reads the words after the verb.
func (c *command) parse(s *settings, words []string) error {
	verb, ok := verbs()[c.verb]
	switch {
	case !ok:
		return fmt.Errorf("unknown command %q: want one of %s", c.verb, strings.Join(verbNames(), ", "))
	case c.worker != "" && c.verb != "get":
		return fmt.Errorf("a worker does nothing but get: who calls %s makes no difference", c.verb)
	case c.times < 1:
		return fmt.Errorf("%d times is never", c.times)
	case c.times > 1 && c.verb == "state":
		return fmt.Errorf("a state is the same however often one looks")
	}
	c.run = verb.run
	if err := verb.parse(c, s, words); err != nil {
		return fmt.Errorf("%w (usage: %s)", err, verb.usage)
	}
	return nil
}

func verbNames() []string {
	var names []string
	for name := range verbs() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// needsFakeClock reports whether the command can be carried out only with a clock that
// is in the replayer's hands.
func (c *command) needsFakeClock() bool {
	return c.verb == "timers" || c.verb == "step" && c.duration < 0 || c.verb == "break" && c.part == "clock"
}
