package main

import (
	_ "embed"
	"fmt"
	"os"
	"strings"

	"github.com/shardq/shardq/bench/compare/internal/document"
)

//go:embed document.md.tmpl
var documentText string

var page = document.Parse(documentText)

// results are the results of a run, as a part of a document in Markdown.
type results struct {
	*bench
	Machine  document.Machine
	Outcomes []*outcome
}

func (r *results) text() (string, error) {
	var text strings.Builder
	err := page.Execute(&text, r)
	return document.Wrap(strings.TrimSpace(text.String())), err
}

// broken reports whether shardq broke a promise.
func (r *results) broken() bool {
	for _, o := range r.Outcomes {
		for _, p := range o.promises {
			if !p.kept() {
				return true
			}
		}
	}
	return false
}

// unfinished reports whether shardq was stopped after -limit, so that it is
// unknown whether it would have kept its promises.
func (r *results) unfinished() bool {
	for _, o := range r.Outcomes {
		if o.stoppedOurs() {
			return true
		}
	}
	return false
}

// Scaled reports whether there are fewer items than the titles say.
func (r *results) Scaled() bool { return r.scale != 1 }

// Scale is the share of the items.
func (r *results) Scale() float64 { return r.scale }

// Promises returns the rows of the table of promises.
func (r *results) Promises() (rows [][]string) {
	for _, o := range r.Outcomes {
		for _, p := range o.promises {
			verdict := "kept"
			if !p.kept() {
				verdict = "**broken**"
			}
			rows = append(rows, []string{o.Case.Title, p.clause, p.what, p.title,
				quantity(p.unit, p.bound), quantity(p.unit, p.measured), verdict})
		}
	}
	return rows
}

// These marks surround the tables in a document.
const (
	beginMark = "<!-- adversaries -->"
	endMark   = "<!-- /adversaries -->"
)

// findMarks returns an error if a file to update has no place for the tables.
// It returns nil if there is no file to update.
func findMarks(file string) error {
	if file == "" {
		return nil
	}
	_, _, err := aroundMarks(file)
	return err
}

// replaceBetweenMarks replaces the text between the marks.
func replaceBetweenMarks(file, text string) error {
	before, after, err := aroundMarks(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+beginMark+"\n\n"+text+"\n"+endMark+after), 0o644)
}

func aroundMarks(file string) (before, after string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	before, rest, begins := strings.Cut(string(text), beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return "", "", fmt.Errorf("%s has no %s with %s behind it", file, beginMark, endMark)
	}
	return before, after, nil
}
