package contract

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// imports are those that a printed program may need.
var imports = strings.Fields(`context testing testing/synctest time github.com/shardq/shardq github.com/shardq/shardq/clock
	github.com/shardq/shardq/internal/engine github.com/shardq/shardq/limiter github.com/shardq/shardq/shard github.com/shardq/shardq/stats github.com/shardq/shardq/worker`)

// stubs stand for what the package has besides.
const stubs = `
const leastBackoff, mostBackoff = 0, 0
type faults struct{}
func (*faults) call(string) {}
func (*faults) arm(string, int) {}
func caught(func()) bool { return false }
type hookedClock struct { *clock.Fake; call func(string) }
type hookedLimiter[T comparable] struct { limiter.Limiter[T]; call func(string) }
func newFake() (c *clock.Fake) { return c }
func hashOf[T any](T) (h uint64) { return h }
func groupOf[T any](T) (g string) { return g }
func pointerTo(name string) *string { return &name }
`

// A program that is printed compiles, whatever its options and calls are.
func TestPrintedProgramsCompile(t *testing.T) {
	list, err := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}, imports...)...).Output()
	require.NoError(t, err)
	files := token.NewFileSet()
	from := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		_, after, _ := strings.Cut("\n"+string(list), "\n"+path+"=")
		name, _, _ := strings.Cut(after, "\n")
		return os.Open(name)
	})
	calls := rapid.Custom(func(t *rapid.T) (calls []call) {
		for i := range 4 * len(callKinds) { // the later ones end the queue
			calls = append(calls, drawing{}.draw(t, callKinds[i/4:i/4+1]))
		}
		return calls
	})
	for number, setting := range []string{"", "s1c1o1", "s2r1p3l1q2C3w2a2u1B1o1D1y1P1", "s2r1p1", "s1c2C1w1i1", "s1o1w1i2x1"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlayer(t, parseProgram(setting+":").setup)
			defer p.release()
			for _, c := range calls.Example(number) {
				p.play(c)
			}
			p.finish()
			_, text, _ := strings.Cut(p.story(), "\n")
			text += stubs
			for _, path := range imports {
				if strings.Contains(text, path[strings.LastIndexByte(path, '/')+1:]+".") {
					text = fmt.Sprintf("import %q\n", path) + text
				}
			}
			file, err := parser.ParseFile(files, fmt.Sprint(number), "package contract\n"+text, 0)
			require.NoError(t, err, text)
			_, err = (&types.Config{Importer: from}).Check("contract", files, []*ast.File{file}, nil)
			require.NoError(t, err, text)
		})
	}
}
