package docs_test

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoBlocksCompile compiles every block of Go code in the documents. Each
// becomes a package of the root module, which exists in an overlay of the build
// alone. A program of another module is an example there, and compiles with
// that module. Other code that needs another module is marked as
// something else than go.
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

var inAnotherModule = regexp.MustCompile(`^(kubernetes|cluster|observe/otel)/`)

var qualifier = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]`)

// importable are the packages that a block may use without importing them.
var importable = []string{
	"context", "errors", "fmt", "log", "net/http", "net/http/httptest", "os", "os/signal", "strings", "sync",
	"syscall",
	"testing", "testing/synctest", "time",
	"golang.org/x/time/rate",
	"github.com/shardq/shardq",
	"github.com/shardq/shardq/clock",
	"github.com/shardq/shardq/coalesce",
	"github.com/shardq/shardq/limiter",
	"github.com/shardq/shardq/observe/debugpage",
	"github.com/shardq/shardq/shardqtest",
	"github.com/shardq/shardq/stats",
	"github.com/shardq/shardq/timerwheel",
	"github.com/shardq/shardq/worker",
}

// source makes a file of a block: of a whole file, of declarations, or of
// statements. Statements may use a context, a queue and a function process that
// the reader has to imagine. They have a scope of their own, in which they may
// declare these again.
func source(block string) string {
	switch {
	case strings.HasPrefix(block, "package "):
		return block
	case declares(block):
		return "package snippet\n" + imports(block) + block
	default:
		const parameters = "ctx context.Context, queue *shardq.Queue[string], process func(string) error"
		body := fmt.Sprintf("func _(%s) {\n{\n%s}\n}\n", parameters, block)
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
	for _, path := range importable {
		name := path[strings.LastIndex(path, "/")+1:]
		used := slices.ContainsFunc(qualifier.FindAllStringSubmatch(code, -1), func(match []string) bool {
			return match[1] == name
		})
		if used {
			fmt.Fprintf(&lines, "import %q\n", path)
		}
	}
	return lines.String()
}
