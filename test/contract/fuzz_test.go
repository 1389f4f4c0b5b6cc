package contract

import (
	"go/ast"
	"go/parser"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// maxCalls are enough to combine all kinds of calls.
const maxCalls = 1000

// FuzzQueue reads its input as a program, and plays it on a queue and on the
// model.
//
// The inputs in testdata/fuzz/FuzzQueue are named after what they try. This
// prints one of them, a call in each line:
//
//	go test -run FuzzQueue/NAME -v .
func FuzzQueue(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) { playProgram(t, parseProgram(text)) })
	})
}

func playProgram(t *testing.T, p program) {
	player := newPlayer(t, p.setup)
	defer player.release()
	budget := maxCalls
	for _, c := range p.calls {
		if budget -= c.times; budget < 0 {
			break
		}
		player.play(c)
	}
	player.finish()
	if testing.Verbose() {
		t.Log(player.story())
	}
}

// Each letter of the committed inputs has a meaning of its own. A letter that a
// change of the tables removed would silently have the meaning of another.
func TestFuzzQueueInputsMeanWhatTheySay(t *testing.T) {
	files, err := filepath.Glob("testdata/fuzz/FuzzQueue/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text := readFuzzInput(t, file)
		p := parseProgram(text)
		require.Equal(t, text, p.text(), file)
		require.NotEmpty(t, p.calls, file)
	}
}

// readFuzzInput returns the one string of a fuzz input.
func readFuzzInput(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	version, value, _ := strings.Cut(strings.TrimSpace(string(raw)), "\n")
	require.Equal(t, "go test fuzz v1", version, file)
	expression, err := parser.ParseExpr(value)
	require.NoError(t, err, file)
	text, err := strconv.Unquote(expression.(*ast.CallExpr).Args[0].(*ast.BasicLit).Value)
	require.NoError(t, err, file)
	return text
}
