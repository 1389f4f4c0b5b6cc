package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The language of the project is described in CONTRIBUTING.md. These tests
// check what a program can check of it, in all packages and documents.

// columns is the width of comments and prose. A tab counts as 4.
const columns = 80

// parsed returns the Go files, by their paths, with the positions of all.
func parsed(t *testing.T) (map[string]*ast.File, *token.FileSet) {
	t.Helper()
	require.NoError(t, parseError())
	return parsedFiles, positions
}

var (
	positions   = token.NewFileSet()
	parsedFiles = map[string]*ast.File{}

	// parseError parses the files once for all tests.
	parseError = sync.OnceValue(func() error {
		all, err := readAll()
		for name, text := range all {
			if err == nil && path.Ext(name) == ".go" {
				parsedFiles[name], err = parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
			}
		}
		return err
	})
)

// TestDocCommentsBeginWithTheName checks the comments of declarations, of
// methods in interfaces, and of exported fields.
func TestDocCommentsBeginWithTheName(t *testing.T) {
	files, set := parsed(t)
	for name, file := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, declaration := range file.Decls {
			for _, d := range documented(declaration) {
				if d.comment.Text() != "" && d.name != "_" && !d.begins() {
					assert.Fail(t, "the comment does not begin with the name",
						"%s: %s: %.60q", set.Position(d.comment.Pos()), d.name, d.comment.Text())
				}
			}
		}
	}
}

// described is an identifier with its doc comment.
type described struct {
	name    string
	comment *ast.CommentGroup
	// isType allows an article before the name.
	isType bool
	// isField allows "The queue calls OnStuck when …".
	isField bool
}

var (
	article  = regexp.MustCompile(`^An? `)
	nameEnds = regexp.MustCompile(`^\W`)
	// calls begins the comment of a hook, which may also have the fields that
	// belong to it.
	calls = regexp.MustCompile(`^(?s)((The|A) [a-z ]+? calls?|Workers call) On.*`)
)

// begins reports whether the comment begins with the name.
func (d described) begins() bool {
	text := d.comment.Text()
	if d.isType {
		text = article.ReplaceAllString(text, "")
	}
	if d.isField && calls.MatchString(text) {
		return strings.Contains(text, d.name)
	}
	after, begins := strings.CutPrefix(text, d.name)
	return begins && nameEnds.MatchString(after)
}

// documented returns what a declaration of a file declares, with the comments.
func documented(declaration ast.Decl) (all []described) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		return []described{{name: d.Name.Name, comment: d.Doc}}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			comment := d.Doc
			if d.Lparen.IsValid() {
				comment = nil // of the group
			}
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Doc != nil {
					comment = s.Doc
				}
				all = append(all, described{name: s.Name.Name, comment: comment, isType: true})
				all = append(all, members(s.Type)...)
			case *ast.ValueSpec:
				if s.Doc != nil {
					comment = s.Doc
				}
				if len(s.Names) == 1 { // otherwise the comment is about all of them
					all = append(all, described{name: s.Names[0].Name, comment: comment})
				}
			}
		}
	}
	return all
}

// members returns the methods of an interface, or the exported fields of a
// struct.
func members(of ast.Expr) (all []described) {
	switch of := of.(type) {
	case *ast.InterfaceType:
		for _, m := range of.Methods.List {
			if len(m.Names) > 0 {
				all = append(all, described{name: m.Names[0].Name, comment: m.Doc})
			}
		}
	case *ast.StructType:
		for _, f := range of.Fields.List {
			if len(f.Names) > 0 && f.Names[0].IsExported() {
				all = append(all, described{name: f.Names[0].Name, comment: f.Doc, isField: true})
			}
			all = append(all, members(f.Type)...)
		}
	}
	return all
}

var (
	// aligned matches code, directives, and rows of a table or a drawing,
	// within a comment.
	aligned = regexp.MustCompile(`^\s*//(\t|[a-z]+:|.*\S   +\S|.*[│┌└├▲▼])`)
	// unbroken matches what cannot be broken between words: addresses, and what
	// a link leads to.
	unbroken = regexp.MustCompile(`\]\([^)]*\)|\w+://\S+|` + "`[^`]{40,}`")
	// notProse matches lines of Markdown that are not wrapped.
	notProse = regexp.MustCompile(`^(\||\s*<|#|\[[^\]]+\]: |    |!\[)`)
)

// width returns how many columns a line takes.
func width(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// TestCommentsAreNarrow checks the comments that have a line of their own.
func TestCommentsAreNarrow(t *testing.T) {
	for name, text := range read(t, func(file string) bool { return path.Ext(file) == ".go" }) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			line = strings.TrimRight(line, "\n")
			if !strings.HasPrefix(strings.TrimSpace(line), "//") || aligned.MatchString(line) {
				continue
			}
			if w := width(unbroken.ReplaceAllString(line, "")); w > columns {
				assert.Fail(t, "a comment is too wide", "%s:%d: %d columns: %s", name, n, w, line)
			}
		}
	}
}

// TestProseIsNarrow checks the documents, without tables, code and links.
func TestProseIsNarrow(t *testing.T) {
	for _, d := range documents(t) {
		prose := d.prose()
		for line := range strings.Lines(prose) {
			line = strings.TrimRight(line, "\n")
			if notProse.MatchString(line) {
				continue
			}
			if w := width(unbroken.ReplaceAllString(line, "")); w > columns {
				assert.Fail(t, "a line is too wide", "%s: %d columns: %s", d.path, w, line)
			}
		}
	}
}

// comments returns the lines of all comments, without code and directives.
func comments(t *testing.T) (all []place) {
	files, set := parsed(t)
	for _, file := range files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				at := set.Position(comment.Pos())
				for i, line := range strings.Split(comment.Text, "\n") {
					if !strings.HasPrefix(line, "//\t") {
						all = append(all, place{at.Filename, at.Line + i, line})
					}
				}
			}
		}
	}
	return all
}

// A place is a line of a file.
type place struct {
	file string
	line int
	text string
}

func (p place) String() string {
	return fmt.Sprintf("%s:%d: %s", p.file, p.line, strings.TrimSpace(p.text))
}
