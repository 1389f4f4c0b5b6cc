package main

import (
	_ "embed"
	"errors"
	"os"
	"regexp"
	"strings"

	"github.com/shardq/shardq/bench/compare/internal/document"
)

//go:embed document.md.tmpl
var documentText string

var page = document.Parse(documentText)

// byHand matches the part of a document that other commands have measured, and
// people have written.
var byHand = regexp.MustCompile(`(?s)\n<!-- kept:begin.*<!-- kept:end -->\n`)

// kept returns the part of a document that is kept when it is written again. It
// returns nothing if there is no document.
func kept(file string) string {
	before, _ := os.ReadFile(file)
	return byHand.FindString(string(before))
}

// write writes the document, and keeps the part that was written by hand. It
// does so also if a plot failed, and then returns that error.
func (r *report) write(file string) error {
	var text strings.Builder
	if err := page.Execute(&text, r); err != nil {
		return err
	}
	whole := document.Wrap(text.String()) + kept(file)
	return errors.Join(append(r.failed, os.WriteFile(file, []byte(whole), 0o644))...)
}
