// Package document has what the commands that write documents have in common.
package document

import (
	"strings"
	"text/template"
)

// Parse parses the template of a document in Markdown, which may use some functions: row
// and rule write a row of a table, and the line below its head, and flow makes a paragraph
// of a text that is broken into lines.
func Parse(text string) *template.Template {
	return template.Must(template.New("document").Funcs(template.FuncMap{
		"row":  row,
		"rule": rule,
		"flow": flow,
	}).Parse(text))
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// rule has the first column at the left, and all others, which are numbers, at the right.
func rule(cells []string) string { return "|---|" + strings.Repeat("---:|", len(cells)-1) }

func flow(text string) string { return strings.Join(strings.Fields(text), " ") }
