package document

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTemplatesWriteTables(t *testing.T) {
	var text strings.Builder
	page := struct{ Head, Cells []string }{[]string{"work", "a", "b"}, []string{"Add", "1", "2"}}
	require.NoError(t, Parse("{{row .Head}}\n{{rule .Head}}\n{{row .Cells}}").Execute(&text, page))
	assert.Equal(t, "| work | a | b |\n|---|---:|---:|\n| Add | 1 | 2 |", text.String())
	assert.Panics(t, func() { Parse("{{unknown}}") })
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("word ", 20)
	code := "`" + strings.TrimSpace(long) + "`"
	lines := strings.TrimSpace(strings.Repeat("word ", 16))
	for text, want := range map[string]string{
		"one\ntwo\n\nthree\n":                   "one two\n\nthree\n",
		long + "\n":                             lines + "\nword word word word\n",
		"- " + long + "\n- b\n  c\n":            "- " + strings.TrimSuffix(lines, " word") + "\n  word word word word word\n- b c\n",
		"see " + code + " here\n":               "see\n" + code + "\nhere\n",
		"| " + long + "|\n# " + long + "x\n":    "| " + long + "|\n# " + long + "x\n",
		"```sh\none\n\ntwo\n```\nthree\nfour\n": "```sh\none\n\ntwo\n```\nthree four\n",
		"    code\n    code\n":                  "    code\n    code\n",
	} {
		assert.Equal(t, want, Wrap(text))
		assert.Equal(t, want, Wrap(want), "again")
	}
}

func TestMachine(t *testing.T) {
	before := time.Now().Format(time.DateOnly)
	m := DescribeMachine("go run .")
	assert.NotEmpty(t, m.Processor)
	assert.Equal(t, runtime.Version(), m.Go)
	assert.Equal(t, "go run .", m.Command)
	assert.Contains(t, []string{before, time.Now().Format(time.DateOnly)}, m.Date)
	if runtime.GOOS == "linux" {
		assert.Regexp(t, `^\d+\.\d\d$`, m.Load)
	}
}
