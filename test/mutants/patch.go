package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A mutant is a planted mistake, as its file describes it:
//
//	Mistake: Done forgets that the item was added during its processing.
//	  That add is lost.
//	Breaks: C2 C3
//	Killed by: ./test/contract TestH3ThousandAddsWhileProcessing
//
//	diff --git …
type mutant struct {
	name    string // the file's name without its extension: a number and a title
	file    string
	mistake string
	clauses []string
	check   check
	// packages are the packages that the patch changes, such as "./shard".
	packages []string
}

// A check is some tests of one package: [-race] PACKAGE TEST...
type check struct {
	race  bool
	pkg   string
	tests []string // if empty, all tests, with -short
}

var (
	clauseName  = regexp.MustCompile(`^C[1-9]\d?$`)
	testName    = regexp.MustCompile(`^Test[A-Z]\w*$`)
	packageName = regexp.MustCompile(`^\.(/[a-z]+)*$`)
	fileChanged = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)
)

// title returns the name without its number. Documents name a mutant by its
// title.
func (m mutant) title() string {
	_, title, _ := strings.Cut(m.name, "-")
	return title
}

func (m mutant) number() int {
	number, _, _ := strings.Cut(m.name, "-")
	n, _ := strconv.Atoi(number)
	return n
}

// readMutants returns the mutants of a directory whose names match, in the
// order of their numbers.
func readMutants(directory string, match *regexp.Regexp) (mutants []mutant, err error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.patch"))
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, file := range files {
		m, err := readMutant(file)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", filepath.Base(file), err))
		}
		if match.MatchString(m.name) {
			mutants = append(mutants, m)
		}
	}
	if len(mutants) == 0 {
		faults = append(faults, fmt.Errorf("no mutant of %d in %s matches %q", len(files), directory, match))
	}
	slices.SortFunc(mutants, func(a, b mutant) int { return cmp.Compare(a.number(), b.number()) })
	return mutants, errors.Join(faults...)
}

func readMutant(file string) (mutant, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return mutant{}, err
	}
	m := mutant{name: strings.TrimSuffix(filepath.Base(file), ".patch"), file: file}
	header, patch, found := strings.Cut(string(text), "\ndiff --git ")
	if !found {
		return m, errors.New(`no line begins with "diff --git"`)
	}
	for _, match := range fileChanged.FindAllStringSubmatch(patch, -1) {
		m.packages = append(m.packages, packageOf(match[1]))
	}
	slices.Sort(m.packages)
	m.packages = slices.Compact(m.packages)
	return m, m.parseHeader(header)
}

// packageOf returns the package of a file as an argument of the go command.
func packageOf(file string) string {
	if directory := path.Dir(file); directory != "." {
		return "./" + directory
	}
	return "."
}

// parseHeader reads the fields, which begin at the margin. Indented lines
// continue a field.
func (m *mutant) parseHeader(header string) (err error) {
	fields := map[string]string{}
	last := ""
	for line := range strings.Lines(header) {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(line, " ") {
			fields[last] += " " + text
			continue
		}
		if name, value, found := strings.Cut(text, ": "); found {
			last, fields[name] = name, value
		}
	}
	m.mistake, m.clauses = fields["Mistake"], strings.Fields(fields["Breaks"])
	m.check, err = parseCheck(strings.Fields(fields["Killed by"]))
	return errors.Join(err, m.validate(fields))
}

func (m *mutant) validate(fields map[string]string) error {
	var faults []error
	if m.mistake == "" {
		faults = append(faults, errors.New(`the header has no "Mistake:"`))
	}
	if len(m.clauses) == 0 {
		faults = append(faults, errors.New(`the header has no "Breaks:"`))
	}
	for _, clause := range m.clauses {
		if !clauseName.MatchString(clause) {
			faults = append(faults, fmt.Errorf("%q is no clause", clause))
		}
	}
	if len(m.packages) == 0 {
		faults = append(faults, errors.New("the patch changes no file"))
	}
	if len(fields) > 3 {
		faults = append(faults, fmt.Errorf("the header has %d fields: want Mistake, Breaks and Killed by", len(fields)))
	}
	return errors.Join(faults...)
}

func parseCheck(words []string) (c check, err error) {
	if len(words) > 0 && words[0] == "-race" {
		c.race, words = true, words[1:]
	}
	if len(words) < 2 || !packageName.MatchString(words[0]) {
		return c, errors.New(`"Killed by:" names no package, or no test`)
	}
	c.pkg, c.tests = words[0], words[1:]
	for _, test := range c.tests {
		if !testName.MatchString(test) {
			return c, fmt.Errorf("%q is no test", test)
		}
	}
	return c, nil
}
