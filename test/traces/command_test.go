package traces

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

// A command is a line that calls the queue.
type command struct {
	verb     string
	manner   string // a word that changes what the verb does: all, after, rate-limited, with context
	items    []string
	batch    bool
	claims   []string // their names
	options  shardq.AddOptions
	duration time.Duration
	count    int
	part     string // a group
	rate     shardq.Rate
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
	// run calls the queue, and returns the immediate result.
	run func(p *player, c *command) string
}

// verbs returns all verbs by the first words of their commands.
func verbs() map[string]verb {
	return map[string]verb{
		"add":           {addUsage, parseAdd, (*player).add},
		"try":           {"try ITEM, with the options of add", parseTry, (*player).tryAdd},
		"get":           {"get [all | with context | with ended context]", parseGet, (*player).get},
		"await":         {"await ITEM within NUMBER gets", parseAwait, (*player).await},
		"claim":         {"claim [at once] as NAME [with ended context], or claim batch as NAME...", parseClaim, (*player).claim},
		"copy":          {"copy NAME as NAME", parseCopy, (*player).copyClaim},
		"end":           {endUsage, parseEnd, (*player).endClaims},
		"valid":         {"valid NAME...", parseClaims, (*player).valid},
		"priority":      {"priority NAME", parseClaims, (*player).priority},
		"fences":        {"fences NAME NAME...", parseClaims, (*player).fences},
		"loop":          {"worker NAME: loop", parseLoop, (*player).loop},
		"next":          {"worker NAME: next", parseLoop, (*player).turn},
		"leave":         {"worker NAME: leave by break|return|panic|Goexit", parseLoop, (*player).turn},
		"cancel":        {"cancel worker NAME, or cancel ITEM", parseCancel, (*player).cancel},
		"done":          {"done ITEM...", parseItems, (*player).done},
		"forget":        {"forget ITEM...", parseItems, (*player).forget},
		"requeues":      {"requeues ITEM", parseItem, (*player).requeues},
		"lookup":        {"lookup ITEM", parseItem, (*player).lookup},
		"len":           {"len", parseNothing, (*player).len},
		"name":          {"name", parseNothing, (*player).name},
		"state":         {"state", parseNothing, (*player).state},
		"groups":        {"groups", parseNothing, (*player).groups},
		"metrics":       {"metrics", parseNothing, (*player).metrics},
		"snapshot":      {"snapshot LIMIT", parseSnapshot, (*player).snapshot},
		"all":           {"all processing|ready|delayed", parseAll, (*player).all},
		"timers":        {"timers", parseNothing, (*player).timers},
		"step":          {"step DURATION", parseStep, (*player).step},
		"shutdown":      {"shutdown", parseNothing, (*player).shutDown},
		"drain":         {"drain [dropping | running | awaiting | retrying]", parseDrain, (*player).drain},
		"shutting-down": {"shutting-down", parseNothing, (*player).shuttingDown},
		"pause":         {"pause [group NAME [for DURATION]]", parsePause, (*player).pause},
		"resume":        {"resume [group NAME]", parsePause, (*player).resume},
		"rate":          {"rate [group NAME] NUMBER [burst NUMBER]", parseRateOf, (*player).setRate},
	}
}

const addUsage = `add ITEM... [after DURATION | rate-limited]
	add [batch] ITEM... [after DURATION] [rate-limited] [earliest | latest | new | old] [within DURATION] [not-again DURATION] [priority NUMBER]
	add ITEM with [ended] context`

const endUsage = `end NAME by Done | Retry | Release | RequeueAfter DURATION
	end batch NAME...`

// workersVerbs are the verbs of workers: those that may block.
var workersVerbs = []string{"get", "claim", "add", "loop", "next", "leave", "drain"}

var (
	timesPrefix  = regexp.MustCompile(`^(\d+) times: `)
	workerPrefix = regexp.MustCompile(`^worker (\w+): `)
)

// parseCommand reads a line without its expectation.
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
	case c.worker != "" && !slices.Contains(workersVerbs, c.verb):
		return fmt.Errorf("a worker makes only calls that may block: it makes no difference which goroutine calls %s", c.verb)
	case c.times < 1:
		return fmt.Errorf("%d times is never", c.times)
	}
	c.run = verb.run
	if err := verb.parse(c, s, words); err != nil {
		return fmt.Errorf("%w (usage: %s)", err, verb.usage)
	}
	if c.worker != "" && c.verb == "add" && !strings.HasSuffix(c.manner, "context") {
		return fmt.Errorf("an add without a context does not block: it makes no difference which goroutine calls it")
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

// needsFakeClock reports whether the command works only with a clock that the
// replayer steps.
func (c *command) needsFakeClock() bool {
	return c.verb == "timers" || c.verb == "step" && c.duration < 0
}
