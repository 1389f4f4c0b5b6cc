// Package document has the common parts of the commands that write documents.
package document

import (
	"regexp"
	"strings"
	"text/template"
	"unicode/utf8"
)

// Parse parses the template of a document in Markdown. The template may use two
// functions: row formats a row of a table, and rule the line below its head.
func Parse(text string) *template.Template {
	return template.Must(template.New("document").Funcs(template.FuncMap{
		"row":  row,
		"rule": rule,
	}).Parse(text))
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// rule aligns the first column to the left, and all others, which are numbers,
// to the right.
func rule(cells []string) string { return "|---|" + strings.Repeat("---:|", len(cells)-1) }

// columns is the width of prose.
const columns = 80

var (
	// unwrapped matches lines that are not prose: tables, headings, comments,
	// images and indented code.
	unwrapped = regexp.MustCompile(`^(\||#|<|!\[|    )`)
	// word matches what cannot be broken: code and words.
	word = regexp.MustCompile("(`[^`]*`|\\S)+")
)

// Wrap breaks the paragraphs and list items of a document in Markdown into
// lines of 80 columns.
func Wrap(text string) string {
	var w wrapper
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		fence := strings.HasPrefix(line, "```")
		switch {
		case fenced || fence || line == "" || unwrapped.MatchString(line):
			w.flush()
			w.lines = append(w.lines, line)
			fenced = fenced != fence
		case strings.HasPrefix(line, "- "):
			w.flush()
			w.add(line)
		default:
			w.add(line)
		}
	}
	w.flush()
	return strings.Join(w.lines, "\n") + "\n"
}

// A wrapper has the lines that are done, and the paragraph that is not.
type wrapper struct {
	lines     []string
	paragraph []string
}

func (w *wrapper) add(line string) { w.paragraph = append(w.paragraph, line) }

// flush wraps the paragraph.
func (w *wrapper) flush() {
	indent, line := "", ""
	if len(w.paragraph) > 0 && strings.HasPrefix(w.paragraph[0], "- ") {
		indent = "  "
	}
	for i, next := range word.FindAllString(strings.Join(w.paragraph, " "), -1) {
		switch {
		case i == 0:
			line = next
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(next) > columns:
			w.lines = append(w.lines, line)
			line = indent + next
		default:
			line += " " + next
		}
	}
	if line != "" {
		w.lines = append(w.lines, line)
	}
	w.paragraph = nil
}
