package traces

import (
	"fmt"
	"maps"
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
	// form is a pattern of what follows the verb. A word in capitals stands for
	// a value: see values. What a group without a name matches is the manner.
	form string
	// run calls the queue, and returns the immediate result.
	run func(p *player, c *command) string
}

// verbs returns all verbs by the first words of their commands.
func verbs() map[string]verb {
	return map[string]verb{
		"add":           {"( batch)? ITEMS(?:( with context| with ended context)|OPTIONS)", (*player).add},
		"try":           {" ITEM(?:OPTIONS)", (*player).tryAdd},
		"get":           {"( all| with context| with ended context)?", (*player).get},
		"await":         {" ITEM within NUMBER gets", (*player).await},
		"claim":         {"( at once| batch)? as NAMES( with ended context)?", (*player).claim},
		"copy":          {" NAME as OTHER", (*player).copyClaim},
		"end":           {" NAME by (Done|Retry|Release|RequeueAfter)(?: DURATION)?| (batch) NAMES", (*player).endClaims},
		"valid":         {" NAMES", (*player).valid},
		"priority":      {" NAME", (*player).priority},
		"fences":        {" NAMES", (*player).fences},
		"loop":          {"", (*player).loop},
		"next":          {"", (*player).turn},
		"leave":         {" by (break|return|panic|Goexit)", (*player).turn},
		"cancel":        {" worker WORKER| ITEM", (*player).cancel},
		"done":          {" ITEMS", (*player).done},
		"forget":        {" ITEMS", (*player).forget},
		"requeues":      {" ITEM", (*player).requeues},
		"lookup":        {" ITEM", (*player).lookup},
		"len":           {"", (*player).len},
		"name":          {"", (*player).name},
		"state":         {"", (*player).state},
		"groups":        {"", (*player).groups},
		"metrics":       {"", (*player).metrics},
		"snapshot":      {" NUMBER", (*player).snapshot},
		"all":           {" (processing|ready|delayed)", (*player).all},
		"timers":        {"", (*player).timers},
		"step":          {" DURATION", (*player).step},
		"shutdown":      {"", (*player).shutDown},
		"drain":         {"( dropping| running| awaiting| retrying)?", (*player).drain},
		"shutting-down": {"", (*player).shuttingDown},
		"pause":         {"(?: group GROUP(?: for DURATION)?)?", (*player).pause},
		"resume":        {"(?: group GROUP)?", (*player).resume},
		"rate":          {"(?: group GROUP)? RATE", (*player).setRate},
	}
}

// workersVerbs are the verbs of workers: those that may block.
var workersVerbs = []string{"get", "claim", "add", "loop", "next", "leave", "drain"}

var (
	timesPrefix  = regexp.MustCompile(`^(\d+) times: `)
	workerPrefix = regexp.MustCompile(`^worker (\w+): `)
)

// parseCommand reads a line without its expectation.
func parseCommand(text string) (*command, error) {
	c := &command{times: 1}
	if match := timesPrefix.FindStringSubmatch(text); match != nil {
		c.times, _ = strconv.Atoi(match[1])
		text = text[len(match[0]):]
	}
	if match := workerPrefix.FindStringSubmatch(text); match != nil {
		c.worker = match[1]
		text = text[len(match[0]):]
	}
	c.verb, _, _ = strings.Cut(text, " ")
	return c, c.parse(text[len(c.verb):])
}

// parse reads what follows the verb.
func (c *command) parse(text string) error {
	verb, ok := verbs()[c.verb]
	switch {
	case !ok:
		return fmt.Errorf("unknown command %q: want one of %s", c.verb, strings.Join(slices.Sorted(maps.Keys(verbs())), ", "))
	case c.worker != "" && !slices.Contains(workersVerbs, c.verb):
		return fmt.Errorf("a worker makes only calls that may block: it makes no difference which goroutine calls %s", c.verb)
	case c.times < 1:
		return fmt.Errorf("%d times is never", c.times)
	}
	c.run = verb.run
	if err := c.take(verb.form, text); err != nil {
		return err
	}
	if c.worker != "" && c.verb == "add" && !strings.HasSuffix(c.manner, "context") {
		return fmt.Errorf("an add without a context does not block: it makes no difference which goroutine calls it")
	}
	return nil
}

// needsFakeClock reports whether the line works only with a clock that the
// replayer steps.
func (l *line) needsFakeClock() bool {
	return l.command.verb == "timers" || l.command.verb == "step" && l.command.duration < 0
}
