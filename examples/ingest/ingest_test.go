package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func init() { // the test binary acts as the program
	if os.Getenv("INGEST_RUN_MAIN") != "" {
		main()
	}
}

// ingest runs the program in this process, and returns what it prints.
func ingest(stdin io.Reader, arguments ...string) (code int, output string) {
	var log, table bytes.Buffer
	code = run(arguments, stdin, &table, &log, nil)
	return code, log.String() + regexp.MustCompile("  +").ReplaceAllString(table.String(), "  ")
}

const proven = "proof  every event is in the database, to the last one\n"

// totals returns the counts of all inputs in a database.
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
			database := input + ".db"                                        // strange names are names, too
			for _, again := range []string{"-again", "-again=0", "-again"} { // the second does nothing
				code, output := ingest(nil, append(strings.Fields(c.flags), again, "-v", "-input", input, "-db", database)...)
				require.Equal(t, exitProven, code, output)
				require.True(t, again != "-again" || strings.Contains(output, c.says), output)
				require.Equal(t, again != "-again", strings.Contains(output, "complete run"))
				require.Contains(t, output, proven)
				require.Equal(t, c.counts, totals(t, database))
			}
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
		"-workers 0":                    "-workers is 0: want 1 or more",
		"-patience -1s":                 "-patience is -1s: want 0 or more",
		"-fail NaN":                     "-fail is NaN: want 0 to 1",
		"-fail 1 -attempts 0":           "would never end",
		"-input no/such/file":           "no such file",
		"-input .":                      "choose with -format",
		"-input - -listen 127.0.0.1:-1": "-listen: ",
		"-input - -db no/such/file.db":  "-db no/such/file.db: stat no/such: no such file or directory",
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
	require.NotContains(t, output, "malformed:") // without -v
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
		r := &report{job: j, read: j.total()}
		r.failure = r.readBack()
		require.ErrorContains(t, r.verdict(), want)
	}
}

func program(t *testing.T, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(t.Context(), os.Args[0], arguments...)
	command.Env = append(os.Environ(), "INGEST_RUN_MAIN=1")
	return command
}

// start starts the program with an open pipe as its input, and waits until it
// says the text. It returns the rest of the line, and what follows.
func start(t *testing.T, text string, flags ...string) (*exec.Cmd, io.Writer, string, *bufio.Scanner) {
	command := program(t, append(flags, "-input", "-")...)
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

// end sends a signal, and returns what the program says until its end.
func end(t *testing.T, command *exec.Cmd, lines *bufio.Scanner) (code int, output string) {
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	for lines.Scan() {
		output += lines.Text() + "\n"
	}
	require.Error(t, command.Wait())
	return command.ProcessState.ExitCode(), output
}

func TestSignal(t *testing.T) {
	database := filepath.Join(t.TempDir(), "counts.db")
	for _, flags := range [][]string{{"-db", database}, nil} {
		command, lines := startWithEvents(t, flags...)
		code, output := end(t, command, lines)
		require.Equal(t, exitEnded, code, output)
		require.Contains(t, output, "every event is in the database")
		require.Equal(t, flags != nil, strings.Contains(output, "the same command goes on from here"), output)
	}
	code, output := ingest(strings.NewReader("a\nb\na\nb\n"), "-input", "-", "-db", database)
	require.Equal(t, exitProven, code, output)
	require.Equal(t, map[string]int{"a": 2, "b": 2}, totals(t, database))
}

// TestKill kills the program at twenty random moments. The last run of each input
// counts the rest, and the database has each event once.
func TestKill(t *testing.T) {
	directory, database := t.TempDir(), filepath.Join(t.TempDir(), "counts.db")
	var text strings.Builder
	counts := map[string]int{}
	for i := range 100_000 {
		key := strconv.Itoa(int(rand.ExpFloat64() * 5000))
		counts[key]++
		text.WriteString(key + "\n")
		if i%1000 == 0 {
			require.NoError(t, os.WriteFile(filepath.Join(directory, strconv.Itoa(i)), []byte(strings.Repeat("same\n", i)), 0o600))
			counts["same"] += i
		}
	}
	flags := []string{"-format", "lines", "-db", database, "-readers", "3", "-fail", "0.1", "-input"}
	for range 10 {
		command := program(t, append(flags, directory)...)
		require.NoError(t, command.Start())
		time.Sleep(rand.N(300 * time.Millisecond)) // a random moment
		_, _ = command.Process.Kill(), command.Wait()
		command = program(t, append(flags, "-")...)
		in, err := command.StdinPipe()
		require.NoError(t, errors.Join(err, command.Start()))
		_, err = io.WriteString(in, text.String()[:rand.N(text.Len())])
		require.NoError(t, err)
		_, _ = command.Process.Kill(), command.Wait()
	}
	for _, input := range []string{"-", directory} {
		code, output := ingest(strings.NewReader(text.String()), append(flags, input)...)
		require.Equal(t, exitProven, code, output)
		require.Contains(t, output, proven)
	}
	require.Equal(t, counts, totals(t, database))
	require.NoError(t, os.Remove(filepath.Join(directory, "0")))
	_, output := ingest(nil, append(flags, directory)...)
	require.Contains(t, output, "the files have changed")
}

func TestTwoAtOnce(t *testing.T) {
	database := filepath.Join(t.TempDir(), "counts.db")
	command, lines := startWithEvents(t, "-db", database)
	code, output := ingest(strings.NewReader("a\nb\na\nc\n"), "-input", "-", "-db", database)
	require.Equal(t, exitProven, code, output)
	code, output = end(t, command, lines)
	require.Equal(t, exitFailed, code, output)
	require.Contains(t, output, "another ingest goes on with this run")
	require.NotContains(t, output, "goes on from here")
	require.Equal(t, map[string]int{"a": 2, "b": 1, "c": 1}, totals(t, database))
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	command, lines := startWithEvents(t, "-fail", "1", "-attempts", "1000000")
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	for lines.Scan() && !strings.Contains(lines.Text(), "another signal stops at once") {
	}
	code, _ := end(t, command, lines)
	require.Equal(t, exitAborted, code)
}
