package workqueue_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os/exec"
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

// namesIn returns the exported names of a package.
func namesIn(t *testing.T, path string) (names map[string]bool) {
	t.Helper()
	output, err := exec.Command("go", "list", "-f", "{{.Dir}}\n{{join .GoFiles \"\\n\"}}", path).Output()
	require.NoError(t, err)
	lines := strings.Fields(string(output))
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range lines[1:] {
		file, err := parser.ParseFile(files, lines[0]+"/"+name, nil, parser.ParseComments)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	p, err := doc.NewFromFiles(files, parsed, path)
	require.NoError(t, err)
	names = map[string]bool{}
	functions := p.Funcs
	for _, typ := range p.Types {
		names[typ.Name] = true
		functions = append(functions, typ.Funcs...)
	}
	for _, f := range functions {
		names[f.Name] = true
	}
	return names
}
