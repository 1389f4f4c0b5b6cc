package workqueue_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames: a program that replaces the import finds each name that client-go
// exports, also the deprecated ones.
func TestNames(t *testing.T) {
	ours, theirs := namesIn(t, "."), namesIn(t, "k8s.io/client-go/util/workqueue")
	require.Greater(t, len(theirs), 30)
	for name := range theirs {
		if !ours[name] {
			t.Errorf("client-go has %s", name)
		}
	}
}

// TestInheritsClientGoAlone: a program that uses this package gets no module into its
// go.mod of which the package imports nothing.
func TestInheritsClientGoAlone(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	require.NoError(t, err)
	modules := strings.Fields(string(output))
	require.Contains(t, modules, "k8s.io/client-go")
	require.NotContains(t, modules, "sigs.k8s.io/controller-runtime")
	require.NotContains(t, modules, "github.com/prometheus/client_golang")
}

var declared = regexp.MustCompile(`(?m)^ *(?:func|type|const|var) ([A-Z]\w*)`)

// namesIn returns the exported names of a package.
func namesIn(t *testing.T, path string) map[string]bool {
	output, err := exec.Command("go", "doc", "-short", path).Output()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, match := range declared.FindAllSubmatch(output, -1) {
		names[string(match[1])] = true
	}
	return names
}
