package main

import (
	_ "embed"
	"errors"
	"os"
	"strings"

	"github.com/shardq/shardq/bench/compare/internal/document"
)

//go:embed document.md.tmpl
var documentText string

var page = document.Parse(documentText)

// write writes the document. It does so also if a plot failed, and then returns
// that error.
func (r *report) write(file string) error {
	var text strings.Builder
	if err := page.Execute(&text, r); err != nil {
		return err
	}
	return errors.Join(append(r.failed, os.WriteFile(file, []byte(text.String()), 0o644))...)
}
