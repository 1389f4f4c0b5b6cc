package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plain lists the directories whose language is checked, with all below them.
var plain = []string{
	"clock", "docs/guide", "examples", "internal", "limiter", "observe/debugpage", "observe/expvars", "observe/otel",
	"observe/prometheus", "stress", "timerwheel",
}

// outworn are words that CONTRIBUTING asks to avoid.
var outworn = regexp.MustCompile(`(?i)\b(whoever|whomever|those who|somebody|anew|lest|is to be|are to be)\b`)

// aligned matches code and the rows of a table within a comment.
var aligned = regexp.MustCompile(`^\s*//(\t|.*\S   +\S|.*[│┌└├])`)

const columns = 80

func isPlain(file string) bool {
	for _, directory := range plain {
		if strings.HasPrefix(file, directory+"/") {
			return true
		}
	}
	return false
}

func TestCommentsArePlain(t *testing.T) {
	files := read(t, func(file string) bool { return path.Ext(file) == ".go" && isPlain(file) })
	require.NotEmpty(t, files)
	for name, text := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		require.NoError(t, err)
		for _, group := range file.Comments {
			for _, comment := range group.List {
				checkComment(t, set.Position(comment.Pos()), comment.Text)
			}
		}
		if !strings.HasSuffix(name, "_test.go") {
			checkDocs(t, file, name)
		}
	}
}

// checkComment checks the width of comments that have a line of their own, and the
// words of all.
func checkComment(t *testing.T, place token.Position, text string) {
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d: %s", place.Filename, place.Line+i, line)
		if !strings.Contains(line, "://") && !aligned.MatchString(line) && place.Column < columns/2 {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), columns, at)
		}
		assert.Empty(t, outworn.FindString(line), at)
	}
}

// checkDocs checks that the comment of each exported declaration begins with its name,
// after an article if there is one.
func checkDocs(t *testing.T, file *ast.File, path string) {
	begins := func(doc *ast.CommentGroup, name string) {
		if doc == nil || !ast.IsExported(name) {
			return
		}
		text := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(doc.Text(), "A "), "An "), "The ")
		assert.True(t, strings.HasPrefix(text, name), "%s: the comment of %s begins with %.40q", path, name, doc.Text())
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			begins(d.Doc, d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, is := s.(*ast.TypeSpec); is && len(d.Specs) == 1 {
					begins(d.Doc, s.Name.Name)
				}
			}
		}
	}
}

func TestDocumentsArePlain(t *testing.T) {
	for _, d := range documents(t) {
		if isPlain(d.path) {
			assert.Empty(t, outworn.FindAllString(d.prose(), -1), d.path)
		}
	}
}
