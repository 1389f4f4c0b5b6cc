package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A suite is the tests of a peer's queue.
type suite struct {
	in           string // the module that requires the peer's version
	module, path string
	// shims is the folder of the files that take the place of the peer's. They
	// export the same, over a shardq queue.
	shims string
	// tests is the number of test functions that there are at least. One of
	// controller-runtime's runs specs of Ginkgo, which are counted by
	// themselves.
	tests, specs int
}

const newest, oldest = "..", "../../../kubernetes" // that is supported

var suites = []suite{
	{newest, "k8s.io/client-go", "util/workqueue", "workqueue", 24, 0},
	{newest, "sigs.k8s.io/controller-runtime", "pkg/controller/priorityqueue", "priorityqueue", 16, 16},
	{oldest, "k8s.io/client-go", "util/workqueue", "workqueue", 24, 0},
	{oldest, "sigs.k8s.io/controller-runtime", "pkg/controller/priorityqueue", "priorityqueue", 2, 18},
}

// TestPeersTests runs the peers' own tests, as they are, over our queues. They
// run in a copy of the peer's module, in which files of a queue are replaced.
func TestPeersTests(t *testing.T) {
	for _, s := range suites {
		t.Run(map[string]string{newest: "newest ", oldest: "oldest "}[s.in]+s.shims, func(t *testing.T) {
			modfile := s.copied(t)
			deps := s.run(t, "list", "-mod=mod", "-modfile", modfile, "-deps", s.module+"/"+s.path)
			require.Contains(t, deps, "github.com/shardq/shardq/kubernetes/queue\n", "the copy is not used")
			s.test(t, modfile)
			if !testing.Short() {
				s.test(t, modfile, "-race")
			}
		})
	}
}

// copied copies the peer's module, puts the shims into the copy, and returns a
// go.mod that names it.
func (s suite) copied(t *testing.T) (modfile string) {
	dir := t.TempDir()
	from := strings.TrimSpace(s.run(t, "list", "-m", "-f", "{{.Dir}}", s.module))
	to := filepath.Join(dir, "copy")
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	require.NoError(t, filepath.WalkDir(to, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	}))
	shims, err := filepath.Glob(filepath.Join("testdata", s.shims, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, shims)
	for _, shim := range shims {
		require.NotContains(t, shim, "_test.go")
		copyFile(t, shim, filepath.Join(to, s.path, filepath.Base(shim)))
	}
	modfile = filepath.Join(dir, "go.mod")
	copyFile(t, filepath.Join(s.in, "go.mod"), modfile)
	copyFile(t, filepath.Join(s.in, "go.sum"), filepath.Join(dir, "go.sum"))
	s.run(t, "mod", "edit", "-replace", s.module+"="+to, modfile)
	return modfile
}

// test runs the tests, and checks that none failed and none is missing. The module
// kubernetes does not require what they import, but the peer's go.mod has it.
func (s suite) test(t *testing.T, modfile string, flags ...string) {
	arguments := append([]string{"test", "-mod=mod", "-modfile", modfile, "-json", "-count", "1", "-timeout", "5m"}, flags...)
	command := exec.Command("go", append(arguments, s.module+"/"+s.path)...)
	command.Dir = s.in
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	passed := 0
	var printed strings.Builder
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		var event struct{ Action, Test, Output string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event))
		printed.WriteString(event.Output)
		if event.Action == "pass" && event.Test != "" && !strings.Contains(event.Test, "/") {
			passed++
		}
	}
	require.NoError(t, err, "%s%s", &printed, &errors)
	require.GreaterOrEqual(t, passed, s.tests, "%s", &printed)
	specs := ranSpecs(t, printed.String())
	require.GreaterOrEqual(t, specs, s.specs, "%s", &printed)
	t.Logf("%v: %d tests and %d specs passed", flags, passed, specs)
}

var ginkgoSummary = regexp.MustCompile(`Ran (\d+) of (\d+) Specs`)

// ranSpecs returns the number of specs that Ginkgo has run. None may be left
// out.
func ranSpecs(t *testing.T, printed string) int {
	found := ginkgoSummary.FindStringSubmatch(printed)
	if found == nil {
		return 0
	}
	require.Equal(t, found[2], found[1], "specs were left out")
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

func (s suite) run(t *testing.T, arguments ...string) string {
	command := exec.Command("go", arguments...)
	command.Dir = s.in
	output, err := command.Output()
	require.NoError(t, err, "go %s: %s", strings.Join(arguments, " "), output)
	return string(output)
}

func copyFile(t *testing.T, from, to string) {
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, 0o644))
}
