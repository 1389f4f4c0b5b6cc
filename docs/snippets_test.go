package docs_test

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGoBlocksCompile compiles every block of Go code in the documents. Each
// becomes a package of the root module, which exists in an overlay of the build
// alone. A program of another module is an example there, and compiles with
// that module, as a program of package examples does. Other code that needs
// another module is marked as something else than go.
func TestGoBlocksCompile(t *testing.T) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	replacements := filepath.Join(t.TempDir(), "overlay.json")
	arguments := []string{"build", "-o", os.DevNull, "-overlay", replacements}
	here, err := os.Getwd()
	require.NoError(t, err)
	examples := programs(t)
	for _, d := range documents(t) {
		for n, block := range d.blocks("go") {
			if inAnotherModule.MatchString(examples[block]) {
				continue
			}
			name := fmt.Sprintf("%s_%d", strings.NewReplacer("/", "_", ".", "_").Replace(d.path), n)
			file := filepath.Join(t.TempDir(), name+".go")
			require.NoError(t, os.WriteFile(file, []byte(source(block)), 0o600))
			overlay.Replace[filepath.Join(here, "snippets", name, "snippet.go")] = file
			arguments = append(arguments, "./snippets/"+name)
		}
	}
	require.NotEmpty(t, overlay.Replace)
	text, err := json.Marshal(overlay)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(replacements, text, 0o600))
	output, err := exec.Command("go", arguments...).CombinedOutput()
	require.NoError(t, err, "%s", output)
}

var inAnotherModule = regexp.MustCompile(`^(kubernetes|cluster|observe/otel|observe/prometheus|examples)/`)

var (
	example     = regexp.MustCompile(`(?ms)^func Example\w*\(\) \{\n(.*?)^\}$`)
	testOfATest = regexp.MustCompile(`(?ms)^func Test\w*\(t \*testing\.T\) \{\n.*?^\}\n`)
)

// TestGuideRunsItsPrograms: each program of the guide is an example whose
// output go test compares, a test beside the examples, or examples/minimal. The
// snippets of the cookbook only compile.
func TestGuideRunsItsPrograms(t *testing.T) {
	files := programs(t)
	for _, d := range documents(t) {
		if path.Dir(d.path) != "docs/guide" {
			continue
		}
		blocks := d.blocks("go")
		assert.NotEmpty(t, blocks, "%s has no program", d.path)
		if d.path == "docs/guide/cookbook.md" {
			continue
		}
		for n, block := range blocks {
			assert.NotEmpty(t, files[block], "no example is program %d of %s", n+1, d.path)
		}
	}
}

// programs returns the files of the examples, by the bodies of their functions.
func programs(t *testing.T) map[string]string {
	files := map[string]string{}
	for file, text := range read(t, func(file string) bool {
		return strings.HasPrefix(path.Base(file), "example") && strings.HasSuffix(file, "_test.go")
	}) {
		for _, match := range example.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "// Output:") { // otherwise go test does not run it
				files[strings.ReplaceAll("\n"+match[1], "\n\t", "\n")[1:]] = file
			}
		}
		for _, test := range testOfATest.FindAllString(text, -1) {
			files[test] = file
		}
	}
	require.NotEmpty(t, files)
	const shown = "examples/minimal/main.go" // entirely, on a page
	for _, text := range read(t, func(file string) bool { return file == shown }) {
		files[text] = shown
	}
	return files
}

var qualifier = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]`)

// importable are the packages that a block may use without importing them.
var importable = []string{
	"context", "errors", "fmt", "log", "log/slog", "net", "net/http", "net/http/httptest", "os", "os/signal", "runtime", "strings", "sync",
	"sync/atomic", "syscall", "testing", "testing/synctest", "time", "golang.org/x/time/rate",
	"github.com/shardq/shardq", "github.com/shardq/shardq/clock", "github.com/shardq/shardq/coalesce",
	"github.com/shardq/shardq/limiter", "github.com/shardq/shardq/observe/debugpage", "github.com/shardq/shardq/shardqtest",
	"github.com/shardq/shardq/stats", "github.com/shardq/shardq/timerwheel", "github.com/shardq/shardq/worker",
}

// source makes a file of a block: of a whole file, of declarations, or of
// statements. Statements may use a context, a queue, some functions and a test
// that the reader has to imagine, and may return an error. They have a scope of
// their own, in which they may declare these again.
func source(block string) string {
	switch {
	case strings.HasPrefix(block, "package "):
		return block
	case declares(block):
		return "package snippet\n" + imports(block) + block
	default:
		const parameters = "ctx context.Context, queue *shardq.Queue[string], process func(context.Context, string) error, " +
			"handle worker.Handler[string], insert func(context.Context, []string) error, isBadRow func(error) bool, t *testing.T"
		body := fmt.Sprintf("func _(%s) (_ error) {\n{\n%s}\nreturn\n}\n", parameters, block)
		return "package snippet\n" + imports(body) + body
	}
}

// declares reports whether a block has declarations alone.
func declares(block string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", "package snippet\n"+block, parser.SkipObjectResolution)
	return err == nil
}

func imports(code string) string {
	var lines strings.Builder
	for _, imported := range importable {
		name := path.Base(imported)
		used := slices.ContainsFunc(qualifier.FindAllStringSubmatch(code, -1), func(match []string) bool {
			return match[1] == name
		})
		if used {
			fmt.Fprintf(&lines, "import %q\n", imported)
		}
	}
	return lines.String()
}
