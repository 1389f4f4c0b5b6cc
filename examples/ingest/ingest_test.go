package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary act as the program.
func TestMain(m *testing.M) {
	if os.Getenv("INGEST_RUN_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// ingest runs the program in this process, and returns what it prints.
func ingest(stdin io.Reader, arguments ...string) (code int, output string) {
	var log, table bytes.Buffer
	code = run(arguments, stdin, &table, &log, nil)
	return code, log.String() + regexp.MustCompile("  +").ReplaceAllString(table.String(), "  ")
}

// totals returns the counts of all runs in a database.
func totals(t *testing.T, path string) map[string]int {
	database, err := openDatabase(path)
	require.NoError(t, err)
	defer database.Close()
	rows, err := database.Query("SELECT key, count FROM ingest_totals")
	require.NoError(t, err)
	defer rows.Close()
	counts := map[string]int{}
	for rows.Next() {
		var key string
		var count int
		require.NoError(t, rows.Scan(&key, &count))
		counts[key] = count
	}
	return counts
}

func TestEveryEventIsCounted(t *testing.T) {
	many := strings.Repeat("a\nb\na\n", 500)
	for _, c := range []struct {
		name, text, flags string
		counts            map[string]int
		says              string
	}{
		{"a.go", "package a // c\n//line x.go:9\nvar ä = a + 'xx' + `b`", "", map[string]int{"a": 2, "ä": 1}, `a.go":3: illegal rune literal`},
		{"a b?#%41.log", "1\r\n1", "", map[string]int{"1": 2}, "events  2\n"},
		{"odd", "\x00a\n\xff\n\n'\"\n", "", map[string]int{"\x00a": 1, "\xff": 1, "": 1, "'\"": 1}, "distinct keys  4\n"},
		{"failing", many, "-fail 0.5 -workers 16 -max-pending 1", map[string]int{"a": 1000, "b": 500}, "events  1,500\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			input := filepath.Join(t.TempDir(), c.name)
			require.NoError(t, os.WriteFile(input, []byte(c.text), 0o600))
			database := input + ".db" // strange names are names, too
			for range 2 {
				code, output := ingest(nil, append(strings.Fields(c.flags), "-input", input, "-db", database)...)
				require.Equal(t, exitProven, code, output)
				require.Contains(t, output, c.says)
				require.Contains(t, output, "proof  every event is in the database, to the last one\n")
			}
			for key := range c.counts {
				c.counts[key] *= 2 // of both runs
			}
			require.Equal(t, c.counts, totals(t, database))
		})
	}
}

func TestDirectoryAndGoInstallation(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"a.go": "a", "sub/b.go": "b b", "c.txt": "c"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(elsewhere, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(elsewhere, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(root, "src"))) // as on Debian
	t.Setenv("GOROOT", root)
	_, output := ingest(nil)
	require.Contains(t, output, "(2 files) as go")
	require.Contains(t, output, "events  3\n")
}

func TestRefusesBeforeWorkStarts(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "in.log")
	require.NoError(t, os.WriteFile(lines, []byte("some text\n"), 0o600))
	foreign, empty := filepath.Join(t.TempDir(), "foreign.db"), filepath.Join(t.TempDir(), "empty.db")
	for path, change := range map[string]string{
		foreign: "CREATE TABLE ingest_counts (something)", empty: "PRAGMA user_version = 7",
	} {
		database, err := openDatabase(path)
		require.NoError(t, err)
		_, err = database.Exec(change)
		require.NoError(t, errors.Join(err, database.Close()))
	}
	before, err := os.ReadFile(foreign)
	require.NoError(t, err)
	for flags, want := range map[string]string{
		"file.go":                       "name an input with -input",
		"-format xml":                   "want go or lines",
		"-workers -1 -attempts -1":      "Options.MaxAttempts is -1",
		"-fail 1 -attempts 0":           "would never end",
		"-input no/such/file":           "no such file",
		"-input .":                      "choose with -format",
		"-input - -listen 127.0.0.1:-1": "-listen: ",
		"-input - -db " + lines:         "ingest did not make this file, and does not write to it\nfile is not a database",
		"-input - -db " + foreign:       "ingest did not make this file, and does not write to it\n",
		"-input - -db " + empty:         "ingest did not make this file, and does not write to it\n",
	} {
		code, output := ingest(strings.NewReader("x\n"), strings.Fields(flags)...)
		require.Contains(t, output, want)
		require.NotContains(t, output, "proof")
		require.Equal(t, exitUnusable, code, flags)
	}
	after, err := os.ReadFile(foreign)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestReportOfWhatIsMissing(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("a\nb\nc"), iotest.ErrReader(errors.New("disk on fire")))
	code, output := ingest(broken, "-input", "-")
	require.Equal(t, exitFailed, code)
	require.Contains(t, output, "not read to the end: disk on fire")
	require.Contains(t, output, "events  2\n")

	code, output = ingest(strings.NewReader("a\na\nb\n"), "-input", "-", "-fail", "1", "-attempts", "2")
	require.Equal(t, exitFailed, code)
	require.Contains(t, output, "NOT PROVEN: 3 of the 3 events failed for good")
	require.NotContains(t, output, "per write")

	code, output = ingest(strings.NewReader(""), "-input", "-")
	require.Equal(t, exitProven, code)
	require.Regexp(t, `(?s)workers\nevents  0\nmalformed records  0\nfiles cut short  0\ntime  [^\n]*\nproof  nothing was read\n$`, output)

	code, output = ingest(strings.NewReader("\x1b\n"), "-input", "-", "-format", "go")
	require.Equal(t, exitFailed, code)
	require.Contains(t, output, "NOT PROVEN: nothing was read: 1 record malformed")
}

// newTestJob returns a job that reads the text.
func newTestJob(t *testing.T, text string) (*job, *bytes.Buffer) {
	config, err := parseFlags([]string{"-input", "-"}, nil)
	require.NoError(t, err)
	output := &bytes.Buffer{}
	j, err := newJob(config, strings.NewReader(text), log.New(output, "", 0))
	require.NoError(t, err)
	t.Cleanup(j.sink.discard)
	return j, output
}

func TestFullDiskEndsAtOnce(t *testing.T) {
	j, output := newTestJob(t, strings.Repeat(strings.Repeat("x", 20_000)+"\n", 3))
	var pages int
	require.NoError(t, j.sink.database.QueryRow("PRAGMA page_count").Scan(&pages))
	_, err := j.sink.database.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	require.NoError(t, err)
	require.Equal(t, exitFailed, j.run(output))
	require.Contains(t, output.String(), "nothing more can be written to "+j.sink.path+": database or disk is full")
	require.Contains(t, output.String(), "3 of the 3 events failed for good")
	require.Regexp(t, `retries +0\n`, output.String())
}

func TestProofFindsOtherWrites(t *testing.T) {
	for change, want := range map[string]string{
		"UPDATE ingest_counts SET count = 3 - count":        "not with the same keys",
		"DELETE FROM ingest_counts WHERE key = 'a'":         "3 events were read, but the database has 2",
		"DROP VIEW ingest_totals; DROP TABLE ingest_counts": "the database cannot be read back",
	} {
		j, output := newTestJob(t, "a\nb\nb\n")
		require.Equal(t, exitProven, j.run(output), output)
		database, err := openDatabase(j.sink.path)
		require.NoError(t, err)
		_, err = database.Exec(change)
		require.NoError(t, errors.Join(err, database.Close()))
		r := &report{job: j}
		r.failure = r.readBack()
		require.ErrorContains(t, r.verdict(), want)
	}
}

// start starts the program with an open pipe as its input, and waits until it
// says the text. It returns the rest of the line, and what follows.
func start(t *testing.T, text string, flags ...string) (*exec.Cmd, io.Writer, string, *bufio.Scanner) {
	command := exec.CommandContext(t.Context(), os.Args[0], append(flags, "-input", "-")...)
	command.Env = append(os.Environ(), "INGEST_RUN_MAIN=1")
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StderrPipe()
	require.NoError(t, err)
	command.Stdout = command.Stderr
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if _, rest, found := strings.Cut(lines.Text(), text); found {
			return command, stdin, rest, lines
		}
	}
	require.Fail(t, "not said", text)
	return nil, nil, "", nil
}

// startWithEvents starts the program, and waits until it has tried to write
// events of its input, which stays open.
func startWithEvents(t *testing.T, flags ...string) (*exec.Cmd, *bufio.Scanner) {
	command, stdin, rest, lines := start(t, "live page at ", append(flags, "-listen", "127.0.0.1:0")...)
	url, _, _ := strings.Cut(rest, " ")
	_, err := io.WriteString(stdin, "a\nb\na\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		answer, err := http.Get(url + "metrics")
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return err == nil && !strings.Contains(string(text), `workqueue_work_duration_seconds_count{name="ingest"} 0`)
	}, time.Minute, time.Millisecond)
	return command, lines
}

func TestSignal(t *testing.T) {
	command, lines := startWithEvents(t)
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	var last string
	for lines.Scan() {
		last = lines.Text()
	}
	require.NoError(t, command.Wait())
	require.Contains(t, last, "every event is in the database")
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	command, lines := startWithEvents(t, "-fail", "1", "-attempts", "1000000")
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	for lines.Scan() && !strings.Contains(lines.Text(), "another signal stops at once") {
	}
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	for lines.Scan() { // or the program would wait for a reader
	}
	require.Error(t, command.Wait())
	require.Equal(t, exitAborted, command.ProcessState.ExitCode())
}

func TestPlural(t *testing.T) {
	require.Equal(t, "1 retry, 2 retries, 1.2M events", plural(1, "retry")+", "+plural(2, "retry")+", "+plural(1_234_567, "event"))
}
