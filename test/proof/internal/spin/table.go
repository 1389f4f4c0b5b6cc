package spin

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A Step is a labeled place of a model, and the line of Go that it models.
type Step struct {
	Label string
	// File is the path of the Go file from the root of the repository, and Code
	// a part of one of its lines.
	File, Code string
}

// row matches a row of the table in a README: the label, and file: code.
var row = regexp.MustCompile("(?m)^\\| `(\\w+)` +\\| `([\\w/.]+\\.go): (.+?)` +\\|$")

// Table reads the table of the steps from a README.
func Table(t *testing.T, readme string) []Step {
	t.Helper()
	text := read(t, readme)
	var steps []Step
	for _, match := range row.FindAllStringSubmatch(text, -1) {
		steps = append(steps, Step{match[1], match[2], match[3]})
	}
	if len(steps) == 0 {
		t.Fatalf("%s has no table", readme)
	}
	return steps
}

// CheckTable compares the steps of a README with the model, and with the source
// under root. Each label of the table must be in the model, each label of the
// model in the table, and each line of Go in its file. Labels with a meaning
// for Promela (end_blocked), and the unmapped ones, need no row.
func CheckTable(t *testing.T, root string, steps []Step, model string, unmapped ...string) {
	t.Helper()
	labels := Labels(t, model)
	mapped := map[string]bool{}
	for _, label := range unmapped {
		mapped[label] = true
	}
	for _, step := range steps {
		mapped[step.Label] = true
		if len(labels[step.Label]) == 0 {
			t.Errorf("the model has no label %s", step.Label)
		}
		if !strings.Contains(read(t, filepath.Join(root, step.File)), step.Code) {
			t.Errorf("%s has no: %s", step.File, step.Code)
		}
	}
	for label := range labels {
		if !mapped[label] && !strings.HasPrefix(label, "end_") {
			t.Errorf("the table has no row for the label %s", label)
		}
	}
}

// CheckReached fails for each step that none of the searches executed, because
// such a search proves nothing about the step.
func CheckReached(t *testing.T, steps []Step, model string, lines map[int]bool) {
	t.Helper()
	labels := Labels(t, model)
	for _, step := range steps {
		reached := false
		for _, span := range labels[step.Label] {
			for line := span.from; line < span.to; line++ {
				reached = reached || lines[line]
			}
		}
		if !reached {
			t.Errorf("no search executes %s", step.Label)
		}
	}
}

// A span is a range of lines, counted from 1, without the last.
type span struct{ from, to int }

var label = regexp.MustCompile(`^(\w+):(?:\s|$)`)

// Labels returns, by label, the lines from each place of the label to the next
// label or the end of the process.
func Labels(t *testing.T, model string) map[string][]span {
	t.Helper()
	labels := map[string][]span{}
	open, from := "", 0
	for i, line := range strings.Split(read(t, model), "\n") {
		match := label.FindStringSubmatch(line)
		if match == nil && line != "}" {
			continue
		}
		if open != "" {
			labels[open] = append(labels[open], span{from, i + 1})
			open = ""
		}
		if match != nil {
			open, from = match[1], i+1
		}
	}
	return labels
}

// CheckListed compares the flags of the configurations with those in a README's
// table, in the column before the number of states.
func CheckListed(t *testing.T, readme string, flags []string) {
	t.Helper()
	var listed []string
	for _, match := range searched.FindAllStringSubmatch(read(t, readme), -1) {
		listed = append(listed, match[1])
	}
	if !slices.Equal(listed, flags) {
		t.Errorf("%s lists the configurations\n%s\nand not\n%s", readme, strings.Join(listed, "\n"), strings.Join(flags, "\n"))
	}
}

// searched matches a row of the table of configurations.
var searched = regexp.MustCompile("(?m)^\\| [^|`]+ \\| `([^`]+)` +\\| [\\d,]+ \\|$")

// variant matches a row of the table of variants in a README.
var variant = regexp.MustCompile("(?m)^\\| `([A-Z_]+)` +\\|")

// Variants returns the names in the first column of a README's table of
// variants.
func Variants(t *testing.T, readme string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, match := range variant.FindAllStringSubmatch(read(t, readme), -1) {
		names[match[1]] = true
	}
	return names
}

var (
	conditional = regexp.MustCompile(`(?m)^#if(?:n?def (\w+)|.*defined\((\w+)\))`)
	definition  = regexp.MustCompile(`(?m)^#define (\w+)`)
)

// Switches returns the flags that a model tests and does not define.
func Switches(t *testing.T, model string) map[string]bool {
	t.Helper()
	text := read(t, model)
	names := map[string]bool{}
	for _, match := range conditional.FindAllStringSubmatch(text, -1) {
		names[match[1]+match[2]] = true
	}
	for _, match := range definition.FindAllStringSubmatch(text, -1) {
		delete(names, match[1])
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
