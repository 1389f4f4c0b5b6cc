package main

import (
	"bytes"
	"database/sql"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Whole runs are in bubbles of testing/synctest, so that tests do not take the
// seconds of a run, and delays do not depend on the machine.

// small has flags for a run of few objects.
var small = []string{"-objects", "10", "-tenants", "2", "-flood", "200", "-workers", "4", "-duration", "1s"}

// outcome is the result of a run.
type outcome struct {
	code           int
	stdout, stderr string
	controller     *controller // nil after a run of the whole program
}

// row returns the value of the report's row of that name.
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

// runWhole runs the program, and calls during concurrently.
func runWhole(t *testing.T, during func(interrupt func()), arguments ...string) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		if during != nil {
			go during(func() { signals <- os.Interrupt })
		}
		var stdout, stderr bytes.Buffer
		o.code = run(arguments, signals, &stdout, &stderr)
		synctest.Wait() // the queue calls OnStuck in a goroutine for which no run waits
		o.stdout, o.stderr = stdout.String(), stderr.String()
	})
	return o
}

// runWith runs a controller that prepare may change first.
func runWith(t *testing.T, prepare func(*controller), arguments ...string) (o outcome) {
	t.Helper()
	path := newDatabase(t)
	synctest.Test(t, func(t *testing.T) {
		var stdout, stderr bytes.Buffer
		config, err := parseFlags(append(arguments, "-db", path), io.Discard)
		require.NoError(t, err)
		o.controller, err = newController(config, log.New(&stderr, "", 0))
		require.NoError(t, err)
		prepare(o.controller)
		o.code = o.controller.run(t.Context(), &stdout)
		synctest.Wait() // the queue calls OnStuck in a goroutine for which no run waits
		o.stdout, o.stderr = stdout.String(), stderr.String()
	})
	return o
}

func newDatabase(t *testing.T) string { return filepath.Join(t.TempDir(), "state.db") }

func reopen(t *testing.T, path string) *sql.DB {
	t.Helper()
	state, err := openState(path)
	require.NoError(t, err)
	t.Cleanup(func() { state.database.Close() })
	return state.database
}

// number returns the single number of a query.
func number(t *testing.T, database *sql.DB, query string) (n int) {
	t.Helper()
	require.NoError(t, database.QueryRow(query).Scan(&n))
	return n
}
