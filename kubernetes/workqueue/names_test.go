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
// exports and has not deprecated.
func TestNames(t *testing.T) {
	ours, _ := namesIn(t, ".")
	theirs, deprecated := namesIn(t, "k8s.io/client-go/util/workqueue")
	require.Greater(t, len(theirs), 30)
	for name := range theirs {
		if !ours[name] && !deprecated[name] {
			t.Errorf("client-go has %s", name)
		}
	}
}

// namesIn returns the exported names of a package, and which are deprecated.
func namesIn(t *testing.T, path string) (names, deprecated map[string]bool) {
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
	names, deprecated = map[string]bool{}, map[string]bool{}
	note := func(name, text string) {
		names[name] = true
		deprecated[name] = strings.Contains(text, "Deprecated:")
	}
	functions := p.Funcs
	for _, typ := range p.Types {
		note(typ.Name, typ.Doc)
		functions = append(functions, typ.Funcs...)
	}
	for _, f := range functions {
		note(f.Name, f.Doc)
	}
	return names, deprecated
}
