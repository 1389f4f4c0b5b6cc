package docs_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A rule names words that the project does not use.
type rule struct {
	// instead is what stands in their place.
	instead string
	// parts are pieces of text, one of which is in each match of words. They
	// make the search fast.
	parts []string
	// words matches in lower case.
	words *regexp.Regexp
}

func avoid(instead, words string, parts ...string) rule {
	return rule{instead, parts, regexp.MustCompile(words)}
}

// unwanted are the words to avoid: see the glossary in CONTRIBUTING.md. A word
// that has other meanings is matched only where it has the one of the glossary.
var unwanted = []rule{
	// Sentences.
	avoid("the actor, such as caller or worker", `\b(whoever|whomever|those who|somebody|someone)\b|[.:;] who \w+s\b`, "who", "some"),
	avoid("again", `\banew\b`, "anew"),
	avoid("so that", `\blest\b`, "lest"),
	avoid("must, or an active verb", `\b(is|are|was|were) to be\b`, " to be"),
	avoid("because", `[,;:] for (it|they|there|this|these|nobody|nothing|no) `+
		`(is|are|was|has|have|may|can|would|will|does|do|had|must|need)s?\b`, " for "),
	avoid("if", `(^|[.;] )should (a|an|the|it|they|this|that)\b`, "should "),
	avoid("call, report", `\b(is|are|was|were|be|been|unless|it) told\b|\btold (of|so|that|to|how|when)\b|\btells? of\b`, "told", "tell"),

	// Items and their states.
	avoid("in flight", `\bin hand\b`, "in hand"),
	avoid("delayed", `\bwaiting (items?|keys?)\b|\bwait(s|ing|ed)? out\b|`+
		`\b(items?|keys?|which|that|what) waits? for (its|their|a|the) (delays?|deadlines?|backoffs?|retry)\b`, "wait"),
	avoid("deduplicated add", `\bmerged adds?\b|\badds? (is|are|was|were) merged\b`, "merged"),
	avoid("merged", `\bfold(s|ed)? (in|into|together)\b`, "fold"),
	avoid("becomes ready, runs again", `\b(comes?|came|coming) (again|due)\b|`+
		`\b(items?|keys?|values?|delays?) (comes?|came|coming) back\b`, "come", "came", "coming"),
	avoid("expires", `\bdelays? (comes?|came|fires?|fired|is through|ends)\b`, "delay"),
	avoid("done", `\b(is|are|was|were) through\b([.,;:)]|$)`, " through"),
	avoid("throttled", `\b(held|holds?|holding) back\b`, " back"),
	avoid("discarded, or ends early", `\bgiven up\b( [^o]|[.,;:)]|$)|\bdrains? (gives?|gave) up\b|`+
		`\bgiv(e|es|ing) (an item|the item|items|a key|a value|values) up\b`, " up"),
	avoid("backoff", `\bback-offs?\b`, "back-off"),
	avoid("limiter of items", `\bguests?\b`, "guest"),
	avoid("entry", `\bpendings\b`, "pendings"),

	// Mechanisms.
	avoid("parker, parked", `\b(parking lot|the lot|sleepers?)\b`, "lot", "sleeper"),
	avoid("the owner of the timer", `\bbatons?\b`, "baton"),
	avoid("coarse clock", `\b(pulses?|the beat|the crowd)\b`, "pulse", "beat", "crowd"),
	avoid("weighted round robin", `\bseats?\b`, "seat"),
	avoid("priority bitmap", `\b(urgency|the board)\b`, "urgency", "board"),
	avoid("requested priority", `\bwish(es|ed)?\b`, "wish"),
	avoid("partition, bucket", `\b(deal(s|t|ing)? out|(a|the|each) piles?)\b`, "deal", "pile"),
	avoid("inspect", `\blooks? (into|inside) (a|the|each) (queue|shard)\b|\blook(s|ing) inside\b|`+
		`\blooks? at (a|the|each|every|one) (queue|shard|snapshot)s?\b|`+
		`\b(a|each|every|no|the|beside|these|longest) looks?( (at|into|takes|holds|has|is|that)\b|[.,;:)]|$)`, "look"),
	avoid("registry", `\brosters?\b`, "roster"),
	avoid("slot", `\b(worker's|workers'|its) desks?\b`, "desk"),
	avoid("event log", `\blogbooks?\b`, "logbook"),
}

// mayHaveWords are files that are not checked, with the reason.
var mayHaveWords = map[string]string{
	"CHANGELOG.md":          "it names what was renamed",
	"docs/glossary_test.go": "it has the words to avoid",
}

// words checks lines of files.
func words(t *testing.T, lines []place) {
	t.Helper()
	require.NotEmpty(t, lines)
	for _, line := range lines {
		if mayHaveWords[line.file] != "" {
			continue
		}
		text := strings.ToLower(line.text)
		for _, r := range unwanted {
			if found := r.find(text); found != "" {
				assert.Fail(t, "an unwanted word", "%q: say %s: %s", found, r.instead, line)
			}
		}
	}
}

// find returns the first of the words in a text, or nothing.
func (r rule) find(text string) string {
	if !slices.ContainsFunc(r.parts, func(part string) bool { return strings.Contains(text, part) }) {
		return ""
	}
	return r.words.FindString(text)
}

func TestWordsOfComments(t *testing.T) { words(t, comments(t)) }

func TestWordsOfDocuments(t *testing.T) {
	var lines []place
	for _, d := range documents(t) {
		for line := range strings.Lines(d.prose()) {
			lines = append(lines, place{file: d.path, text: codeSpan.ReplaceAllString(line, "`…`")})
		}
	}
	words(t, lines)
}

// TestWordsOfThePageAndTheLog checks the page's text, and the texts of the log.
func TestWordsOfThePageAndTheLog(t *testing.T) {
	var lines []place
	for file, text := range read(t, func(file string) bool {
		return path.Dir(file) == "observe/debugpage" && (path.Ext(file) == ".html" || path.Ext(file) == ".js")
	}) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			lines = append(lines, place{file, n, line})
		}
	}
	files, set := parsed(t)
	for name, file := range files {
		if path.Dir(name) != "observe/debugpage" && name != "eventlog.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, is := n.(*ast.BasicLit); is && text.Kind == token.STRING {
				value, err := strconv.Unquote(text.Value)
				require.NoError(t, err)
				lines = append(lines, place{name, set.Position(n.Pos()).Line, value})
			}
			return true
		})
	}
	words(t, lines)
}
