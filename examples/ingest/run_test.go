package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain lets the test binary act as the program, for tests that need a child
// process.
func TestMain(m *testing.M) {
	if os.Getenv("INGEST_RUN_MAIN") != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// program returns a command that runs the program in a child process.
func program(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), self, arguments...)
	command.Env = append(os.Environ(), "INGEST_RUN_MAIN=1")
	return command
}

// repeated returns a text of lines "key0" to "key6", with as many of each as
// its number says, times n, and their counts.
func repeated(n int) (string, map[string]int) {
	var text strings.Builder
	counts := map[string]int{}
	for range n {
		for key := range 7 {
			for range key {
				name := "key" + strconv.Itoa(key)
				fmt.Fprintln(&text, name)
				counts[name]++
			}
		}
	}
	return text.String(), counts
}

func TestRunCountsEveryEvent(t *testing.T) {
	text, counts := repeated(500)
	for _, flags := range [][]string{
		{},
		{"-shards", "1", "-workers", "1", "-readers", "1"},
		{"-fail", "0.5", "-seed", "7"},
		{"-fail", "0.5", "-workers", "16", "-readers", "8"},
		{"-fail", "0.5", "-max-pending", "2"},
		{"-max-pending", "1"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			database := newDatabase(t)
			result := ingest(text, append(flags, "-input", "-", "-db", database)...)
			require.Equal(t, exitProven, result.code, result.stderr)
			require.Equal(t, counts, totals(t, database))
			require.Equal(t, "10,500", result.row(t, "events"))
			require.Equal(t, "6", result.row(t, "distinct keys"))
			require.Equal(t, "every event is in the database, to the last one", result.row(t, "proof"))
		})
	}
}

func TestRunReadsFilesOfEachFormat(t *testing.T) {
	for _, c := range []struct {
		name, text string
		flags      []string
		counts     map[string]int
	}{
		{"a.go", "package a; var b = a", nil, map[string]int{"a": 2, "b": 1}},
		{"a.CSV", "x,y\nz,y\n", []string{"-key", "2"}, map[string]int{"y": 2}},
		{"a.jsonl", "{\"k\":1}\n{\"k\":1}\n", []string{"-key", "k"}, map[string]int{"1": 2}},
		{"a.log", "x\ny\nx", nil, map[string]int{"x": 2, "y": 1}},
		{"a.txt", "x,y\n", []string{"-format", "csv", "-key", "2"}, map[string]int{"y": 1}},
		{"a b?#%41.log", "x\n", nil, map[string]int{"x": 1}},
		{"odd", "\x00a\n\xff\n\xff\n'\"\n", nil, map[string]int{"\x00a": 1, "\xff": 2, "'\"": 1}},
		{"empty", "", nil, map[string]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			input := writeFile(t, c.name, c.text)
			database := filepath.Join(t.TempDir(), c.name+".db") // strange names are names, too
			result := ingest("", append(c.flags, "-input", input, "-db", database)...)
			require.Equal(t, exitProven, result.code, result.stderr)
			require.Equal(t, c.counts, totals(t, database))
		})
	}
}

func TestRunReadsADirectory(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "a", "sub/b.go": "b b", "sub/.hidden": "h\n", "c.txt": "c\n", "d.csv": "d,e\n",
	} {
		path := filepath.Join(directory, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(directory, link))
	for format, counts := range map[string]map[string]int{
		"go":    {"a": 1, "b": 2},
		"csv":   {"d": 1},
		"lines": {"a": 1, "b b": 1, "c": 1, "d,e": 1},
	} {
		t.Run(format, func(t *testing.T) {
			database := newDatabase(t)
			result := ingest("", "-input", link, "-format", format, "-db", database)
			require.Equal(t, exitProven, result.code, result.stderr)
			require.Equal(t, counts, totals(t, database))
		})
	}
	t.Run("of several formats", func(t *testing.T) {
		result := ingest("", "-input", directory)
		require.Equal(t, exitUnusable, result.code)
		require.Contains(t, result.stderr, "choose one with -format csv or go")
	})
}

// The default input is the source of the Go installation. The test creates one,
// with its src a symbolic link as on Debian.
func TestRunReadsTheGoInstallationByDefault(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "x.go"), []byte("package x"), 0o600))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(root, "src")))
	t.Setenv("GOROOT", root)
	result := ingest("")
	require.Equal(t, exitProven, result.code, result.stderr)
	require.Equal(t, "1", result.row(t, "events"))
}

func TestRunWithoutAGoInstallation(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	result := ingest("")
	require.Equal(t, exitUnusable, result.code)
	require.Contains(t, result.stderr, "name an input with -input")
}

func TestRunNamesCountsAndSkipsMalformedRecords(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "key=%d\nbad\n", i)
	}
	result := ingest(text.String(), "-input", "-", "-key", `key=(\d+)`)
	require.Equal(t, exitProven, result.code, result.stderr)
	require.Equal(t, "30", result.row(t, "events"))
	require.Equal(t, "30", result.row(t, "malformed records"))
	require.Contains(t, result.stderr, "malformed: standard input:20: the -key pattern does not match")
	require.NotContains(t, result.stderr, "standard input:22:")
	require.Contains(t, result.stderr, "counted but not named")
}

func TestRunStrictStopsAtAMalformedRecord(t *testing.T) {
	database := newDatabase(t)
	result := ingest("key=1\nbad\nkey=2\n", "-input", "-", "-key", `key=(\d+)`, "-strict", "-db", database)
	require.Equal(t, exitFailed, result.code)
	require.Contains(t, result.stderr, "-strict: stopped at a malformed record")
	require.Equal(t, map[string]int{"1": 1}, totals(t, database), "what was read before is written and proven")
	require.Equal(t, "1", result.row(t, "malformed records"))
	require.Contains(t, result.row(t, "proof"), "every event")
}

func TestRunReportsAFileThatBreaksOff(t *testing.T) {
	source := io.MultiReader(strings.NewReader("a\nb\nc"), iotest.ErrReader(errors.New("disk on fire")))
	var stdout, stderr bytes.Buffer
	code := run([]string{"-input", "-"}, process{source, &stdout, &stderr, nil})
	result := outcome{code, stdout.String(), stderr.String()}
	require.Equal(t, exitFailed, result.code)
	require.Contains(t, result.stderr, "standard input:3: the rest cannot be read: disk on fire")
	require.Equal(t, "2", result.row(t, "events"))
	require.Equal(t, "1", result.row(t, "files cut short"))
	require.Contains(t, result.row(t, "proof"), "every event")
}

func TestRunReportsAHeaderWithoutTheColumn(t *testing.T) {
	result := ingest("a,b\n1,2\n", "-input", "-", "-format", "csv", "-key", "c")
	require.Equal(t, exitFailed, result.code)
	require.Contains(t, result.stderr, `standard input:1: no column is named "c"`)

	result = ingest("", "-input", writeFile(t, "x.csv", "a,b\n1,2\n"), "-key", "c")
	require.Equal(t, exitUnusable, result.code, "a file is checked before work starts")
}

// Text of the input reaches the terminal without control characters.
func TestRunEscapesTextOfTheInput(t *testing.T) {
	result := ingest("a\x1b[2J,b\xff\u202e\n1,2\n", "-input", "-", "-format", "csv", "-key", "c")
	require.Equal(t, exitFailed, result.code)
	require.Contains(t, result.stderr, `there are ["a\x1b[2J" "b\xff\u202e"]`)
	require.NotContains(t, result.stderr, "\x1b")

	input := writeFile(t, "in\x1b]0;title\a.log", "x\n")
	result = ingest("", "-input", input)
	require.Equal(t, exitProven, result.code)
	require.Contains(t, result.stderr, `in\x1b]0;title\a.log`)
	require.NotContains(t, result.stderr, "\x1b")
}

func TestRunThatReadsNothingSaysSo(t *testing.T) {
	result := ingest("", "-input", "-")
	require.Equal(t, exitProven, result.code, result.stderr)
	require.Equal(t, "nothing was read", result.row(t, "proof"))

	result = ingest("bad\nworse\n", "-input", "-", "-key", `key=(\d+)`)
	require.Equal(t, exitFailed, result.code)
	require.Equal(t, "NOT PROVEN", result.row(t, "proof"))
	require.Contains(t, result.stderr, "NOT PROVEN: nothing was read: all of the 2 records are malformed")
}

func TestRunAddsToADatabase(t *testing.T) {
	database := newDatabase(t)
	foreign := reopen(t, database)
	_, err := foreign.Exec("CREATE TABLE mine (x); INSERT INTO mine VALUES (42)")
	require.NoError(t, err)
	for _, text := range []string{"a\nb\n", "b\nb\nc\n"} {
		result := ingest(text, "-input", "-", "-db", database)
		require.Equal(t, exitProven, result.code, result.stderr)
		require.Equal(t, "2", result.row(t, "distinct keys"), "of this run")
	}
	require.Equal(t, map[string]int{"a": 1, "b": 3, "c": 1}, totals(t, database))
	var answer, events int
	require.NoError(t, foreign.QueryRow("SELECT x FROM mine").Scan(&answer))
	require.Equal(t, 42, answer)
	require.NoError(t, foreign.QueryRow("SELECT events FROM ingest_runs WHERE run = 2 AND finished NOT NULL").Scan(&events))
	require.Equal(t, 3, events)
}

func TestRunRefusesBeforeWorkStarts(t *testing.T) {
	lines := writeFile(t, "in.log", "x\n")
	for _, c := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"-bogus"}, []string{"flag provided but not defined: -bogus"}},
		{[]string{"-workers", "many"}, []string{`invalid value "many" for flag -workers`}},
		{[]string{"file.go"}, []string{`unexpected argument "file.go": name an input with -input`}},
		{
			[]string{"-format", "xml", "-readers", "0", "-workers", "-1", "-shards", "-1", "-max-pending", "0", "-fail", "NaN", "-attempts", "-1", "-duration", "-1s", "-patience", "-1s"},
			[]string{`-format "xml"`, "-readers 0", "-workers -1", "-shards -1", "-max-pending 0", "-fail NaN", "-attempts -1", "-duration -1s", "-patience -1s"},
		},
		{[]string{"-engine", "heap"}, []string{"flag provided but not defined: -engine"}},
		{[]string{"-fail", "1", "-attempts", "0"}, []string{"would never end"}},
		{[]string{"-input", lines, "-format", "go", "-key", "x"}, []string{"-key has no meaning with -format go"}},
		{[]string{"-input", lines, "-format", "ndjson"}, []string{"-format ndjson needs a -key"}},
		{[]string{"-input", "no/such/file"}, []string{"-input: stat no/such/file: no such file"}},
		{[]string{"-input", t.TempDir()}, []string{"choose one with -format"}},
		{[]string{"-input", t.TempDir(), "-format", "go"}, []string{"no file in it is read as go"}},
		{[]string{"-input", lines, "-db", "no/such/directory/x.db"}, []string{"-db no/such/directory/x.db: unable to open database file"}},
		{[]string{"-input", lines, "-db", t.TempDir()}, []string{"unable to open database file"}},
		{[]string{"-input", lines, "-db", writeFile(t, "x", "no database")}, []string{"file is not a database"}},
		{[]string{"-input", lines, "-db", lines}, []string{"it is also a file of the input"}},
	} {
		t.Run(strings.Join(c.flags, " "), func(t *testing.T) {
			result := ingest("", c.flags...)
			require.Equal(t, exitUnusable, result.code)
			require.Empty(t, result.stdout)
			for _, want := range c.want {
				require.Contains(t, result.stderr, want)
			}
		})
	}
	text, err := os.ReadFile(lines)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(text))
}

func TestRunRefusesAnUnreadableFile(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "a.go"), nil, 0o600))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(directory, "b.go")))
	database := newDatabase(t)
	result := ingest("", "-input", directory, "-db", database)
	require.Equal(t, exitUnusable, result.code)
	require.Contains(t, result.stderr, "b.go: no such file")
	require.NoFileExists(t, database, "nothing is begun")
}

func TestRunRefusesForeignTables(t *testing.T) {
	path := newDatabase(t)
	_, err := reopen(t, path).Exec("CREATE TABLE ingest_counts (something)")
	require.NoError(t, err)
	result := ingest("x\n", "-input", "-", "-db", path)
	require.Equal(t, exitUnusable, result.code)
	require.Contains(t, result.stderr, "no column named run")
}

func TestRunPrintsItsUsage(t *testing.T) {
	result := ingest("", "-h")
	require.Equal(t, 0, result.code)
	for _, word := range []string{"Usage", "-max-pending", "ndjson", "Exit codes"} {
		require.Contains(t, result.stderr, word)
	}
}

func TestRunEndsReadingAfterTheDuration(t *testing.T) {
	endless, feed := io.Pipe() // never written, never closed
	defer feed.Close()
	var stdout, stderr watcher
	code := run([]string{"-input", "-", "-duration", "1ms"}, process{endless, &stdout, &stderr, nil})
	require.Equal(t, exitProven, code)
	require.Contains(t, stderr.String(), "-duration is over: the rest of the input was not read")
}

func TestRunDiscardsAWriteThatKeepsFailing(t *testing.T) {
	result := ingest("a\na\nb\n", "-input", "-", "-fail", "1", "-attempts", "3")
	require.Equal(t, exitFailed, result.code)
	require.Equal(t, "3", result.row(t, "failed for good"))
	require.Equal(t, "4", result.row(t, "retries"), "two for each key, and the third failure ends it")
	require.Equal(t, "0", result.row(t, "sink writes"))
	require.Equal(t, "NOT PROVEN", result.row(t, "proof"))
	require.Contains(t, result.stderr, "NOT PROVEN: 3 of the 3 events failed for good")
}

// newTestPipeline returns a pipeline over the text, and a watcher of its
// messages.
func newTestPipeline(t *testing.T, text string, flags ...string) (*pipeline, *watcher) {
	t.Helper()
	stderr := &watcher{}
	config, err := parseFlags(append(flags, "-input", "-"), stderr)
	require.NoError(t, err)
	p, err := newPipeline(config, strings.NewReader(text), newConsole(stderr))
	require.NoError(t, err)
	t.Cleanup(p.sink.discard)
	return p, stderr
}

func (p *pipeline) runForTest(t *testing.T) outcome {
	t.Helper()
	var stdout bytes.Buffer
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	return outcome{code: p.run(ctx, stop, &stdout), stdout: stdout.String()}
}

func TestRunSurvivesADatabaseThatIsLocked(t *testing.T) {
	p, stderr := newTestPipeline(t, "a\na\nb\n")
	require.NoError(t, p.sink.execute("PRAGMA busy_timeout = 0"))
	other := reopen(t, p.sink.path)
	lock, err := other.Begin()
	require.NoError(t, err)
	_, err = lock.Exec("CREATE TABLE mine (x)")
	require.NoError(t, err)
	stderr.text, stderr.call = "failed; they are retried", func() { _ = lock.Rollback() }

	result := p.runForTest(t)
	require.Equal(t, exitProven, result.code, stderr.String())
	require.NotEqual(t, "0", result.row(t, "retries"))
}

func TestRunReportsADatabaseThatStaysFull(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	p, stderr := newTestPipeline(t, long+"\n"+long+"\n", "-attempts", "3")
	var pages int
	require.NoError(t, p.sink.connection.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages))
	require.NoError(t, p.sink.execute(fmt.Sprintf("PRAGMA max_page_count = %d", pages)))

	result := p.runForTest(t)
	require.Equal(t, exitFailed, result.code)
	require.Equal(t, "2", result.row(t, "failed for good"))
	require.Contains(t, stderr.String(), "database or disk is full")
	require.Contains(t, stderr.String(), "NOT PROVEN: 2 of the 2 events failed for good")
}

// The proof finds a change of the database by another program, also if the sums
// agree.
func TestRunProvesTheDatabaseItself(t *testing.T) {
	for change, want := range map[string]string{
		"UPDATE ingest_counts SET count = 3 - count":                    "not with the same keys",
		"UPDATE ingest_counts SET key = 'c' WHERE key = 'a'":            "not with the same keys",
		"DELETE FROM ingest_counts WHERE key = 'a'":                     "3 events were read, but the database has 2",
		"UPDATE ingest_counts SET count = count + 1 WHERE key = 'a'":    "3 events were read, but the database has 4",
		"DROP VIEW ingest_totals; DROP TABLE ingest_counts":             "the database cannot be read back",
		"INSERT INTO ingest_counts (run, key, count) VALUES (1, '', 0)": "",
	} {
		t.Run(change, func(t *testing.T) {
			p, _ := newTestPipeline(t, "a\nb\nb\n")
			report := p.work(t.Context(), &complaints{console: p.console})
			require.NoError(t, p.sink.execute(change))
			report.proof, report.failure = p.prove(report.read, report.written.lost)
			if want == "" {
				require.NoError(t, report.verdict())
			} else {
				require.ErrorContains(t, report.verdict(), want)
			}
		})
	}
}

// await reads lines until one contains the text.
func await(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	require.Fail(t, "ended without saying", text)
}

func TestSignalDrainsReportsAndProves(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			database := newDatabase(t)
			command := program(t, "-input", "-", "-db", database, "-fail", "0.5")
			stdin, err := command.StdinPipe()
			require.NoError(t, err)
			stderr, err := command.StderrPipe()
			require.NoError(t, err)
			var stdout bytes.Buffer
			command.Stdout = &stdout
			require.NoError(t, command.Start())
			lines := bufio.NewScanner(stderr)
			await(t, lines, "writing to")
			_, err = io.WriteString(stdin, "a\nb\na\n")
			require.NoError(t, err)
			awaitEvents(t, lines, database)
			require.NoError(t, command.Process.Signal(signal))
			await(t, lines, "reading stops")
			await(t, lines, "interrupted: the rest of the input was not read")
			_, err = io.Copy(io.Discard, stderr)
			require.NoError(t, err)
			require.NoError(t, command.Wait(), "exit code 0")
			result := outcome{stdout: stdout.String()}
			require.Equal(t, "3", result.row(t, "events"))
			require.Contains(t, result.row(t, "proof"), "every event")
			require.Equal(t, map[string]int{"a": 2, "b": 1}, totals(t, database))
		})
	}
}

// awaitEvents waits for the line of progress with the three events.
func awaitEvents(t *testing.T, lines *bufio.Scanner, _ string) {
	t.Helper()
	await(t, lines, " 3 events")
}

// A database that accepts no more writes must not keep the program running
// until the platform kills it.
func TestSignalAndTheEndOfThePatience(t *testing.T) {
	command := program(t, "-input", "-", "-fail", "0.9999999", "-attempts", "0", "-patience", "10ms")
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	var stdout bytes.Buffer
	command.Stdout = &stdout
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(stderr)
	await(t, lines, "writing to")
	_, err = io.WriteString(stdin, "never written\n")
	require.NoError(t, err)
	await(t, lines, " 1 events")
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	await(t, lines, "writing what was read, within 10ms; another signal stops at once")
	await(t, lines, "-patience is over: shardq: queue ingest: left undone")
	await(t, lines, "NOT PROVEN")
	_, err = io.Copy(io.Discard, stderr)
	require.NoError(t, err)
	var failure *exec.ExitError
	require.ErrorAs(t, command.Wait(), &failure)
	require.Equal(t, exitFailed, failure.ExitCode())
	require.Equal(t, "NOT PROVEN", outcome{stdout: stdout.String()}.row(t, "proof"))
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	command := program(t, "-input", "-", "-fail", "1", "-attempts", "1000000")
	command.Stdin = strings.NewReader("never written\n")
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	var stdout bytes.Buffer
	command.Stdout = &stdout
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(stderr)
	await(t, lines, "writing to")
	require.NoError(t, command.Process.Signal(syscall.SIGINT))
	await(t, lines, "another signal stops at once")
	require.NoError(t, command.Process.Signal(syscall.SIGINT))
	await(t, lines, "again: stopped at once")
	_, err = io.Copy(io.Discard, stderr)
	require.NoError(t, err)
	var failure *exec.ExitError
	require.ErrorAs(t, command.Wait(), &failure)
	require.Equal(t, exitAborted, failure.ExitCode())
	require.Empty(t, stdout.String())
}

func TestProgramInItsOwnProcess(t *testing.T) {
	input := writeFile(t, "p.go", "package p; func f() { f() }")
	database := newDatabase(t)
	output, err := program(t, "-input", input, "-db", database).Output()
	require.NoError(t, err)
	require.Equal(t, "3", outcome{stdout: string(output)}.row(t, "events"))
	require.Equal(t, map[string]int{"p": 1, "f": 2}, totals(t, database))
}
