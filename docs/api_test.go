package docs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files that TestAPI compares")

// TestAPI: what a public package exports is what its file in docs/api says, so
// that a change of it shows in a review. To write the files anew:
//
//	go test ./docs -run TestAPI -update
func TestAPI(t *testing.T) {
	if *update {
		require.NoError(t, os.RemoveAll("api"))
		require.NoError(t, os.Mkdir("api", 0o755))
	}
	files := map[string]string{}
	for directory, sources := range publicPackages(t) {
		api := exported(t, path.Join("github.com/shardq/shardq", directory), sources)
		file := filepath.Join("api", strings.ReplaceAll(path.Join("shardq", directory), "/", "-")+".txt")
		if files[file] = api; *update {
			require.NoError(t, os.WriteFile(file, []byte(api), 0o644))
		}
	}
	require.NotEmpty(t, files)
	have, err := filepath.Glob("api/*")
	require.NoError(t, err)
	require.Len(t, have, len(files), "a package came or went: see TestAPI")
	for file, api := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(text), api, "if this change is meant: go test ./docs -run TestAPI -update")
	}
}

var private = regexp.MustCompile(`(^|/)(internal|docs|test|bench|stress|examples|cmd)(/|$)`)

// publicPackages returns the sources of the packages that others may import, on
// Linux, by directory.
func publicPackages(t *testing.T) map[string]map[string]string {
	packages := map[string]map[string]string{}
	for file, text := range read(t, func(file string) bool {
		return strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !private.MatchString(path.Dir(file))
	}) {
		directory := path.Dir(file)
		if onLinux(text) {
			if packages[directory] == nil {
				packages[directory] = map[string]string{}
			}
			packages[directory][file] = text
		}
	}
	return packages
}

func onLinux(source string) bool {
	line, _, _ := strings.Cut(source, "\n")
	if !constraint.IsGoBuild(line) {
		return true
	}
	is, err := constraint.Parse(line)
	return err == nil && is.Eval(func(tag string) bool { return tag == "linux" || tag == "unix" })
}

// exported returns the exported declarations of a package, without comments.
func exported(t *testing.T, importPath string, sources map[string]string) string {
	set := token.NewFileSet()
	var files []*ast.File
	for name, text := range sources {
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(set, files, importPath)
	require.NoError(t, err)
	var api strings.Builder
	fmt.Fprintf(&api, "package %s // import %q\n\n", p.Name, importPath)
	printed := func(declaration ast.Decl) {
		require.NoError(t, format.Node(&api, set, declaration))
		api.WriteString("\n")
	}
	all := func(values []*doc.Value, functions []*doc.Func) {
		for _, value := range values {
			printed(value.Decl)
		}
		for _, function := range functions {
			printed(function.Decl)
		}
	}
	all(slices.Concat(p.Consts, p.Vars), p.Funcs)
	for _, one := range p.Types {
		api.WriteString("\n")
		printed(one.Decl)
		all(slices.Concat(one.Consts, one.Vars), slices.Concat(one.Funcs, one.Methods))
	}
	return strings.ReplaceAll(api.String(), "\n\n\t", "\n\t") // fields and values line by line
}
