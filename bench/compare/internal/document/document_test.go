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
	page := struct {
		Head, Cells []string
		Text        string
	}{[]string{"work", "a", "b"}, []string{"Add", "1", "2"}, "one\n\ttwo "}
	require.NoError(t, Parse("{{row .Head}}\n{{rule .Head}}\n{{row .Cells}}\n{{flow .Text}}").Execute(&text, page))
	assert.Equal(t, "| work | a | b |\n|---|---:|---:|\n| Add | 1 | 2 |\none two", text.String())
	assert.Panics(t, func() { Parse("{{unknown}}") })
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
