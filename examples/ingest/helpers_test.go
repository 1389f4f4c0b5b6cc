package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// outcome is the result of a run.
type outcome struct {
	code           int
	stdout, stderr string
}

// row returns the value of the table's row of that name.
func (o outcome) row(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(o.stdout) {
		if value, ok := strings.CutPrefix(line, name+"  "); ok {
			return strings.TrimSpace(value)
		}
	}
	require.Fail(t, "no such row", "%q in:\n%s", name, o.stdout)
	return ""
}

// ingest runs the program in this process.
func ingest(stdin string, arguments ...string) outcome {
	var stdout bytes.Buffer
	var stderr watcher
	code := run(arguments, process{strings.NewReader(stdin), &stdout, &stderr, nil})
	return outcome{code, stdout.String(), stderr.String()}
}

// watcher is a writer that calls a function the first time that a text is
// written.
type watcher struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	call func()
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if w.call != nil && strings.Contains(w.all.String(), w.text) {
		w.call()
		w.call = nil
	}
	return len(p), nil
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// totals returns the counts of all runs in the database.
func totals(t *testing.T, path string) map[string]int {
	t.Helper()
	database := reopen(t, path)
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
	require.NoError(t, rows.Err())
	return counts
}

func reopen(t *testing.T, path string) *sql.DB {
	t.Helper()
	database, err := openDatabase(path)
	require.NoError(t, err)
	t.Cleanup(func() { database.Close() })
	return database
}

// writeFile creates a file for the test and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func newDatabase(t *testing.T) string { return filepath.Join(t.TempDir(), "counts.db") }
