package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A lot is a draw of places, each with a mistake of its own, numbered from 1. One
// build has them all: a function has a copy of its body for each of its mistakes,
// which runs if the environment variable is the mistake's number. So the tests are
// built once, and run with each number in turn.
type lot struct {
	path, scratch string  // the path of the module, and a directory
	places, drawn []place // those to draw from, and those that compile
	checks        []*check
}

// A check is the compiled tests of a package.
type check struct {
	pkg        string // "./shard"
	deps, args []string
	duration   time.Duration // without a mistake
}

const timeLimit = "time limit"

var (
	scope = strings.Fields(`list -f {{range.GoFiles}}{{$.ImportPath}}/{{.}}{{"\n"}}{{end}}` +
		" . ./shard/... ./timerwheel ./limiter ./worker ./coalesce ./stats ./observe/debugpage")
	pages         = regexp.MustCompile(`/debugpage/(?:[^rt]|request|tables)`) // but not the readings
	packageClause = regexp.MustCompile(`(?m)^package \w+$`)
	failure       = regexp.MustCompile(`(?m)^--- FAIL: \S+`)
)

func newLot(path string, seed uint64) (*lot, error) {
	l := &lot{path: path}
	files, err := output("go", scope...)
	for name := range strings.FieldsSeq(files) {
		if name = strings.TrimPrefix(name, path+"/"); !pages.MatchString(name) {
			text, e1 := os.ReadFile(name)
			places, e2 := placesOf(name, string(text))
			l.places, err = append(l.places, places...), errors.Join(err, e1, e2)
		}
	}
	drawn := slices.Clone(l.places)
	for i, from := range rand.New(rand.NewPCG(seed, 0)).Perm(len(drawn)) {
		l.places[i], l.places[i].number = drawn[from], i+1
	}
	return l, err
}

// plant writes the files with their mistakes, and an overlay for the build.
func (l *lot) plant() (overlay string, err error) {
	replace, byFile := "", map[string][]place{}
	write := func(name, text string) string {
		file := filepath.Join(l.scratch, strings.ReplaceAll(name, "/", "_"))
		replace += fmt.Sprintf(",%q:%q", name, file)
		err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	write("internal/lot/lot.go", `package lot; import "os"; var Number = os.Getenv("SHARDQ_MUTANT")`)
	for _, p := range l.drawn {
		byFile[p.name] = append(byFile[p.name], p)
	}
	for name, places := range byFile {
		write(name, l.rewrite(places))
	}
	return write("overlay.json", `{"Replace": {`+replace[1:]+"}}"), err
}

// rewrite returns a file with some mistakes. Errors of the compiler name the
// mistake by its line directive.
func (l *lot) rewrite(places []place) string {
	slices.SortFunc(places, func(p, q place) int { return cmp.Compare(p.body, q.body) })
	text, done, b := places[0].text, 0, &strings.Builder{}
	for i, p := range places {
		if done <= p.body {
			b.WriteString(text[done : p.body+1])
			done = p.body + 1
		}
		fmt.Fprintf(b, "if lot.Number == \"%d\" {\n//line lot%d.go:1\n%s else ", p.number, p.number, p.planted(done, p.till))
		if i+1 == len(places) || places[i+1].body != p.body {
			line := 1 + strings.Count(text[:done], "\n")
			fmt.Fprintf(b, "{\n//line %s:%d\n%s}", path.Base(p.name), line, text[done:p.till])
			done = p.till
		}
	}
	b.WriteString(text[done:])
	return packageClause.ReplaceAllString(b.String(), `$0; import "`+l.path+`/internal/lot"`)
}

// build draws mistakes that compile, and builds the tests with them.
func (l *lot) build(count int) error {
	for {
		more := min(count-len(l.drawn), len(l.places))
		l.drawn, l.places = append(l.drawn, l.places[:more]...), l.places[more:]
		fmt.Printf("building with %d mistakes\n", len(l.drawn))
		overlay, e := l.plant()
		errs, err := output("go", "build", "-overlay", overlay, "./...")
		if err = errors.Join(e, err); err == nil {
			return l.buildChecks(overlay)
		}
		before := len(l.drawn)
		l.drawn = slices.DeleteFunc(l.drawn, func(p place) bool {
			return strings.Contains(errs, fmt.Sprintf("lot%d.go:", p.number))
		})
		if len(l.drawn) == before {
			return err
		}
	}
}

func (l *lot) buildChecks(overlay string) error {
	listed, err := output("go", "list", "-test", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	build := []string{"test", "-c", "-vet=off", "-overlay", overlay, "-o", l.scratch + "/"}
	for line := range strings.Lines(listed) {
		deps := strings.Fields(line)
		pkg, isTest := strings.CutSuffix(deps[0], ".test")
		c := &check{pkg: "." + strings.TrimPrefix(pkg, l.path), deps: deps}
		if isTest && slices.ContainsFunc(l.drawn, func(p place) bool { return l.concerns(c, p) }) {
			if slices.Contains(deps, "pgregory.net/rapid") {
				c.args = []string{"-rapid.shrinktime=0s", "-rapid.nofailfile"}
			}
			l.checks, build = append(l.checks, c), append(build, c.pkg)
		}
	}
	fmt.Printf("building the tests of %d packages\n", len(l.checks))
	_, e := output("go", build...)
	return errors.Join(err, e)
}

// concerns: the tests of c have the mistake's package.
func (l *lot) concerns(c *check, p place) bool {
	return slices.Contains(c.deps, path.Join(l.path, path.Dir(p.name)))
}

// try returns what fails with a mistake, or with none. A shell bounds the memory.
func (l *lot) try(c *check, number int, limit time.Duration, args ...string) (failed string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	binary := filepath.Join(l.scratch, path.Base(path.Join(l.path, c.pkg))+".test")
	args = slices.Concat([]string{"-c", `ulimit -v 16777216; exec "$@"`, "sh", binary}, c.args, args)
	test := exec.CommandContext(ctx, "sh", args...)
	test.Dir, test.WaitDelay = c.pkg, time.Second
	test.Env = append(os.Environ(), "SHARDQ_MUTANT="+fmt.Sprint(number))
	text, err := test.CombinedOutput()
	if err == nil {
		return ""
	} else if ctx.Err() != nil {
		return timeLimit
	}
	names := strings.Join(failure.FindAllString(string(text), -1), "|")
	return cmp.Or(strings.ReplaceAll(names, "--- FAIL: ", ""), "crash")
}

// measure sees what each check does without a mistake. The copies change what is
// inlined and allocated: a test that sees that is skipped. The quickest is first.
func (l *lot) measure(c *check) {
	for range 2 {
		start := time.Now()
		failed := l.try(c, 0, 5*time.Minute)
		if c.duration = time.Since(start); failed == "" {
			fmt.Printf("%s passes in %.1f s\n", c.pkg, c.duration.Seconds())
			return
		}
		fmt.Printf("%s: skips %s, which fails without a mistake\n", c.pkg, failed)
		c.args = append(c.args, "-test.skip=^("+failed+")$")
	}
	c.deps = nil // concerns nobody
}

// examine runs the checks that concern a mistake, until one fails.
func (l *lot) examine(p place) (result string) {
	for _, c := range l.checks {
		if l.concerns(c, p) {
			if failed := l.try(c, p.number, 30*time.Second+5*c.duration, "-test.failfast"); failed != "" {
				return "killed by " + c.pkg + " " + failed
			}
		}
	}
	return "SURVIVED"
}

// examineAll reports whether all were killed. A time limit may be that of a busy
// machine: the last line names such kills.
func (l *lot) examineAll() bool {
	var survived, limited []int
	var mu sync.Mutex
	begun := time.Now()
	each(l.drawn, func(p place) {
		result := l.examine(p)
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%v: %s\n", p, result)
		if result == "SURVIVED" {
			survived = append(survived, p.number)
		} else if strings.HasSuffix(result, timeLimit) {
			limited = append(limited, p.number)
		}
	})
	fmt.Printf("in %v, %d killed, %d of them by a time limit: %v; %d survived: %v\n", time.Since(begun).Round(time.Second),
		len(l.drawn)-len(survived), len(limited), limited, len(survived), survived)
	return len(survived) == 0
}

// each calls f for all, twice as many at once as there are processors: tests that
// hang take none until their limit.
func each[T any](all []T, f func(T)) {
	var done sync.WaitGroup
	lanes := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	for _, one := range all {
		lanes <- struct{}{}
		done.Go(func() { f(one); <-lanes })
	}
	done.Wait()
}
