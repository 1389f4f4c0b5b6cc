package traces

import "strings"

// A file is a text file of scenarios.
type file struct {
	name      string
	lines     []*line
	scenarios []*scenario
}

// A line of a file.
type line struct {
	number int
	// text is the line without the expectation.
	text string
	// command is nil in lines without a command.
	command  *command
	expected outcome
}

// An outcome is the result of a command: the text after the arrow, and then the
// indented lines below.
type outcome []string

// text writes the file in its canonical form.
func (f *file) text() string {
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString(l.text)
		for i, expected := range l.expected {
			switch {
			case i > 0:
				b.WriteString("\n  " + expected)
			case expected != "":
				b.WriteString(arrow + expected)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
