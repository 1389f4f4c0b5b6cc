package traces

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readFile parses the file at a path.
func readFile(path string) (*file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseFile(filepath.Base(path), string(text))
}

// parseFile parses a text. Errors say in which line they are.
func parseFile(name, text string) (*file, error) {
	f := &file{name: name}
	for i, text := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if err := f.parseLine(i+1, text); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	if len(f.scenarios) == 0 {
		return nil, fmt.Errorf("%s:1: no scenario: want a line that starts with ---", name)
	}
	for _, s := range f.scenarios {
		s.complete()
	}
	return f, nil
}

// parseLine takes in the next line.
func (f *file) parseLine(number int, text string) error {
	text = strings.TrimRight(text, " \t")
	if strings.HasPrefix(text, "  ") {
		return f.parseExpectation(text[2:])
	}
	l := &line{number: number, text: text}
	f.lines = append(f.lines, l)
	switch {
	case text == "" || strings.HasPrefix(text, "#"):
		return nil
	case strings.HasPrefix(text, "---"):
		return f.parseHeading(number, text)
	case len(f.scenarios) == 0:
		return fmt.Errorf("a command before the first scenario: want a line that starts with ---")
	}
	return f.scenarios[len(f.scenarios)-1].parseLine(l)
}

// parseExpectation takes in an indented line: it belongs to the command above.
func (f *file) parseExpectation(text string) error {
	if len(f.lines) == 0 || f.lines[len(f.lines)-1].command == nil {
		return fmt.Errorf("an indented line that follows no command")
	}
	above := f.lines[len(f.lines)-1]
	if above.expected == nil {
		above.expected = outcome{""}
	}
	above.expected = append(above.expected, text)
	return nil
}

// parseHeading begins a scenario.
func (f *file) parseHeading(number int, text string) error {
	tags, title, ok := strings.Cut(strings.TrimPrefix(text, "--- "), ": ")
	if !ok || tags == "" || title == "" || strings.HasPrefix(tags, "---") {
		return fmt.Errorf("want a heading like --- C3, H3: What happens")
	}
	f.scenarios = append(f.scenarios, &scenario{
		file: f.name, number: number, tags: strings.Split(tags, ", "), title: title, settings: newSettings(),
	})
	return nil
}

// arrow stands between a command and its outcome. A file that -update rewrites
// may write it as ->.
const arrow = " → "

func cutExpectation(text string) (command string, expected outcome) {
	text = strings.Replace(text, " -> ", arrow, 1)
	command, result, ok := strings.Cut(text, arrow)
	if !ok {
		return strings.TrimSuffix(command, strings.TrimRight(arrow, " ")), nil
	}
	return strings.TrimSpace(command), outcome{strings.TrimSpace(result)}
}

// parseLine takes in a line that is neither blank nor a comment.
func (s *scenario) parseLine(l *line) (err error) {
	what, rest, _ := strings.Cut(l.text, " ")
	switch {
	case (what == "with" || what == "together") && len(s.commands) > 0:
		return fmt.Errorf("%q has to come before the first command", what)
	case what == "with" && len(s.settings.together) > 0:
		return fmt.Errorf("%q has to come before %q", what, "together")
	case what == "with":
		return s.settings.with(rest)
	case what == "together":
		return s.parseTogether(rest)
	}
	l.text, l.expected = cutExpectation(l.text)
	l.command, err = parseCommand(l.text)
	if err != nil {
		return err
	}
	if n := len(s.commands); n > 0 && s.commands[n-1].command.verb == "await" {
		return fmt.Errorf("nothing can follow await: what it leaves behind is open")
	}
	s.commands = append(s.commands, l)
	return nil
}

func (s *scenario) parseTogether(text string) error {
	names, err := expand(strings.Fields(text))
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(slices.Concat(s.settings.together...), name) {
			return fmt.Errorf("%s is together with others already", name)
		}
	}
	s.settings.together = append(s.settings.together, names)
	return nil
}
