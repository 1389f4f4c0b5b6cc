// Package operations_test checks what operators use: that the documents, the
// dashboard and the alert rules name the series that are exported, and that the
// rules fire when they should.
package operations_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/internal/series/seriestest"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

var docs = filepath.Join("..", "..", "..", "docs")

func readDocument(t *testing.T, path ...string) string {
	text, err := os.ReadFile(filepath.Join(append([]string{docs}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// exported returns the scrape of a queue and a coalescer that have every
// feature.
func exported(t *testing.T) map[string]dto.MetricType {
	values := seriestest.NewCoalescer("values", 1)
	_, err := values.NewSource("log", 1)
	require.NoError(t, err)
	c, err := shardqprom.NewCollector(shardqprom.Options{Groups: 1}, seriestest.Play("q"), values.Queue())
	require.NoError(t, err)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	types := map[string]dto.MetricType{}
	for _, f := range families {
		types[f.GetName()] = f.GetType()
	}
	return types
}

var row = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|")

// TestTableNamesWhatIsExported checks that each series has one row, with its
// type.
func TestTableNamesWhatIsExported(t *testing.T) {
	documented := map[string]string{}
	for _, match := range row.FindAllStringSubmatch(readDocument(t, "reference", "metrics.md"), -1) {
		require.NotContains(t, documented, match[1], "a second row")
		documented[match[1]] = match[2]
	}
	want := map[string]string{}
	for name, kind := range exported(t) {
		want[name] = strings.ToLower(kind.String())
	}
	require.Equal(t, want, documented)
}

var seriesName = regexp.MustCompile(`\b(?:workqueue|shardq)_[a-z_]+\b`)

// TestDocumentsNameWhatIsExported checks the names in the text and in the
// expressions.
func TestDocumentsNameWhatIsExported(t *testing.T) {
	known := exported(t)
	for _, document := range []string{"metrics.md", "operations.md"} {
		names := seriesName.FindAllString(readDocument(t, "reference", document), -1)
		require.NotEmpty(t, names)
		for _, name := range names {
			require.Contains(t, known, base(known, name), document)
		}
	}
}

// base returns the family of a series. A name may be that of a part of a
// histogram.
func base(known map[string]dto.MetricType, name string) string {
	for _, part := range []string{"_bucket", "_count", "_sum"} {
		if family, ok := strings.CutSuffix(name, part); ok && known[family] == dto.MetricType_HISTOGRAM {
			return family
		}
	}
	return name
}

var blocks = regexp.MustCompile("(?s)```promql\n(.*?)```")

func TestExpressionsInDocumentsParse(t *testing.T) {
	found := blocks.FindAllStringSubmatch(readDocument(t, "reference", "operations.md"), -1)
	require.NotEmpty(t, found)
	for _, match := range found {
		parse(t, match[1])
	}
}

// parse parses an expression and returns the families that it selects, which
// must be exported.
func parse(t *testing.T, expression string) (names []string) {
	expression = strings.ReplaceAll(expression, "$__rate_interval", "5m")
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	require.NoError(t, err, expression)
	known := exported(t)
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			name := base(known, selectedName(selector))
			require.Contains(t, known, name, expression)
			names = append(names, name)
		}
		return nil
	})
	require.NotEmpty(t, names, expression)
	return names
}

func selectedName(s *parser.VectorSelector) string {
	for _, matcher := range s.LabelMatchers {
		if matcher.Name == model.MetricNameLabel {
			return matcher.Value
		}
	}
	return ""
}
