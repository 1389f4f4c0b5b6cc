package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/shardq/shardq/worker"
)

// schema gives each run rows of its own: two programs can write at once.
const schema = `
CREATE TABLE IF NOT EXISTS ingest_runs (
	run INTEGER PRIMARY KEY, started TEXT NOT NULL, input TEXT NOT NULL, finished TEXT, events INTEGER);
CREATE TABLE IF NOT EXISTS ingest_counts (
	run INTEGER NOT NULL, key TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS ingest_totals AS
	SELECT key, sum(count) AS count FROM ingest_counts GROUP BY key;
`

const isOurs = `SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)
	AND (SELECT user_version FROM pragma_user_version) = 0 AND (SELECT application_id FROM pragma_application_id) = 0
	OR (SELECT group_concat(name) FROM pragma_table_info('ingest_runs')) IS 'run,started,input,finished,events'
	AND (SELECT group_concat(name) FROM pragma_table_info('ingest_counts')) IS 'run,key,count'`

const rowsPerStatement = 64 // a statement costs about as much as half a row

// A sink is a database with the current run. It is not safe for concurrent use.
type sink struct {
	path      string
	temporary bool
	run       int64
	database  *sql.DB                 // one connection
	fail      float64                 // share of the transactions
	abort     context.CancelCauseFunc // ends the reading
	broken    error                   // why nothing more can be written, or nil
}

func openSink(config config, input string, abort context.CancelCauseFunc) (*sink, error) {
	s := &sink{path: config.database, fail: config.fail, abort: abort}
	if s.path == "" {
		directory, err := os.MkdirTemp("", "ingest-")
		if err != nil {
			return nil, err
		}
		s.path, s.temporary = filepath.Join(directory, "ingest.db"), true
	}
	if err := s.begin(input); err != nil {
		s.discard()
		return nil, fmt.Errorf("-db %s: %w", s.path, err)
	}
	return s, nil
}

// begin begins a run. It writes nothing to a file that ingest did not make.
func (s *sink) begin(input string) (err error) {
	if s.database, err = openDatabase(s.path); err != nil {
		return err
	}
	tx, err := s.database.Begin()
	var ours bool
	if err == nil {
		defer tx.Rollback() // no effect after Commit
		err = tx.QueryRow(isOurs).Scan(&ours)
	}
	if err == nil && !ours || codeOf(err) == sqlite3.SQLITE_NOTADB {
		return errors.Join(errors.New("ingest did not make this file, and does not write to it"), err)
	}
	if err == nil {
		_, err = tx.Exec(schema)
	}
	if err == nil {
		err = tx.QueryRow("INSERT INTO ingest_runs (started, input) VALUES (datetime(), ?) RETURNING run", input).Scan(&s.run)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// With synchronous=NORMAL a commit may not survive a loss of power.
func openDatabase(path string) (*sql.DB, error) {
	name := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?_txlock=immediate&_busy_timeout=5000" +
		"&_synchronous=NORMAL&_error_rc=1&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(16384)"
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		name += "&_journal_mode=WAL"
	}
	database, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	database.SetMaxOpenConns(1)
	return database, nil
}

func codeOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

var permanent = []int{
	sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOTADB,
}

func (s *sink) write(rows []row) error {
	if s.broken != nil {
		return worker.Permanent(s.broken)
	}
	if rand.Float64() < s.fail {
		return errors.New("-fail: this transaction fails on purpose")
	}
	err := s.commit(rows)
	if slices.Contains(permanent, codeOf(err)) {
		s.broken = fmt.Errorf("nothing more can be written to %s: %w", s.path, err)
		s.abort(s.broken)
		return worker.Permanent(s.broken)
	}
	return err
}

func (s *sink) commit(rows []row) error {
	tx, err := s.database.Begin()
	if err != nil {
		return err
	}
	var upsert *sql.Stmt
	for part := range slices.Chunk(rows, rowsPerStatement) {
		if n := len(part); upsert == nil || n < rowsPerStatement {
			upsert, err = tx.Prepare("INSERT INTO ingest_counts (run, key, count) VALUES (?, ?, ?)" +
				strings.Repeat(", (?, ?, ?)", n-1) + " ON CONFLICT DO UPDATE SET count = count + excluded.count")
		}
		var arguments []any
		for _, r := range part {
			arguments = append(arguments, s.run, r.Key, int64(r.Value))
		}
		if err == nil {
			_, err = upsert.Exec(arguments...)
		}
		if err != nil {
			_ = tx.Rollback() // a full disk has rolled it back already
			return err
		}
	}
	if err = tx.Commit(); err != nil {
		_, _ = s.database.Exec("ROLLBACK") // a failed COMMIT may leave the transaction open
	}
	return err
}

func (s *sink) finish(events uint64) error {
	_, err := s.database.Exec("UPDATE ingest_runs SET finished = datetime(), events = ? WHERE run = ?", int64(events), s.run)
	return errors.Join(err, s.database.Close())
}

func (s *sink) discard() {
	_ = s.database.Close()
	if s.temporary {
		_ = os.RemoveAll(filepath.Dir(s.path))
	}
}
