package main

import (
	_ "embed"
	"errors"
	"os"
	"strings"
	"text/template"
)

//go:embed document.md.tmpl
var documentText string

var document = template.Must(template.New("document").Funcs(template.FuncMap{
	"row":  func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" },
	"rule": func(cells []string) string { return "|---|" + strings.Repeat("---:|", len(cells)-1) },
	"flow": func(text string) string { return strings.Join(strings.Fields(text), " ") },
}).Parse(documentText))

// write writes the document. It does so also if a plot failed, and then returns
// that error.
func (r *report) write(file string) error {
	var text strings.Builder
	if err := document.Execute(&text, r); err != nil {
		return err
	}
	return errors.Join(append(r.failed, os.WriteFile(file, []byte(text.String()), 0o644))...)
}
