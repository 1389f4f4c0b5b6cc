package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoBlocksCompile compiles every block of Go code in the documents. Each becomes a
// package of the root module, which exists in an overlay of the build alone. Code that
// needs another module is marked as something else than go.
func TestGoBlocksCompile(t *testing.T) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	replacements := filepath.Join(t.TempDir(), "overlay.json")
	arguments := []string{"build", "-o", os.DevNull, "-overlay", replacements}
	here, err := os.Getwd()
	require.NoError(t, err)
	for _, d := range documents(t) {
		for n, block := range d.blocks("go") {
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

var (
	declaration = regexp.MustCompile(`(?m)^(func|type|var|const|import) `)
	qualifier   = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]`)
)

// importable is what a block may use without importing it.
var importable = []string{
	"context", "errors", "fmt", "log", "os", "os/signal", "sync", "syscall", "testing", "testing/synctest", "time",
	"github.com/shardq/shardq",
	"github.com/shardq/shardq/clock",
	"github.com/shardq/shardq/limiter",
	"github.com/shardq/shardq/timerwheel",
}

// source makes a file of a block: of a whole file, of declarations, or of statements,
// which may use a context, a queue and a function process that the reader has to imagine.
func source(block string) string {
	switch {
	case strings.HasPrefix(block, "package "):
		return block
	case declaration.MatchString(block):
		return "package snippet\n" + imports(block) + block
	default:
		const parameters = "ctx context.Context, queue *shardq.Queue[string], process func(string) error"
		if strings.Contains(block, "queue := ") {
			block = "{\n" + block + "}\n"
		}
		body := fmt.Sprintf("func _(%s) {\n%s}\n", parameters, block)
		return "package snippet\n" + imports(body) + body
	}
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
