package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// schema creates the tables and the view, beside any others. Each run has its
// own rows, so that earlier content stays, and two programs can write to one
// database at once.
const schema = `
CREATE TABLE IF NOT EXISTS ingest_runs (
	run      INTEGER PRIMARY KEY,
	started  TEXT NOT NULL,
	input    TEXT NOT NULL,
	finished TEXT,    -- NULL if the run was cut off
	events   INTEGER  -- that were read
);
CREATE TABLE IF NOT EXISTS ingest_counts (
	run   INTEGER NOT NULL,
	key   TEXT NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (run, key)
) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS ingest_totals AS
	SELECT key, sum(count) AS count FROM ingest_counts GROUP BY key;
`

const (
	upsertHead = "INSERT INTO ingest_counts (run, key, count) VALUES "
	upsertRow  = "(?, ?, ?)"
	upsertTail = " ON CONFLICT (run, key) DO UPDATE SET count = count + excluded.count"
)

// rowsPerStatement is the number of rows that one statement upserts. A
// statement costs about as much as half a row.
const rowsPerStatement = 64

// A sink is a database with the current run. It is not safe for concurrent use,
// except for discard.
type sink struct {
	path      string
	temporary bool
	run       int64
	database  *sql.DB
	// One connection, and explicit BEGIN and COMMIT: a failed COMMIT can leave
	// the transaction open, and database/sql would not roll it back.
	connection *sql.Conn
	one, many  *sql.Stmt // upserts of 1 and of rowsPerStatement rows
	arguments  []any     // of a statement, reused
}

// openSink opens or creates the database at path, or a temporary one if path is
// empty, and begins a run in it.
func openSink(path, inputName string) (*sink, error) {
	s := &sink{path: path}
	if path == "" {
		directory, err := os.MkdirTemp("", "ingest-")
		if err != nil {
			return nil, fmt.Errorf("-db: %w", err)
		}
		s.path, s.temporary = filepath.Join(directory, "ingest.db"), true
	}
	if err := s.begin(inputName); err != nil {
		s.close()
		s.discard()
		return nil, fmt.Errorf("-db %s: %w", s.path, err)
	}
	return s, nil
}

func (s *sink) begin(inputName string) (err error) {
	if s.database, err = openDatabase(s.path); err != nil {
		return err
	}
	ctx := context.Background()
	if s.connection, err = s.database.Conn(ctx); err != nil {
		return err
	}
	if _, err = s.connection.ExecContext(ctx, schema); err != nil {
		return err
	}
	if s.one, err = s.connection.PrepareContext(ctx, upsert(1)); err != nil {
		return err
	}
	if s.many, err = s.connection.PrepareContext(ctx, upsert(rowsPerStatement)); err != nil {
		return err
	}
	inserted, err := s.connection.ExecContext(ctx,
		"INSERT INTO ingest_runs (started, input) VALUES (?, ?)", timestamp(), inputName)
	if err != nil {
		return err
	}
	s.run, err = inserted.LastInsertId()
	return err
}

// openDatabase opens the SQLite database at path, or creates one with a
// write-ahead log. An existing one keeps its journal mode. With
// synchronous=NORMAL a commit survives the death of the process. After a loss
// of power the database is intact, but may lack the last commits.
func openDatabase(path string) (*sql.DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// A URI may contain any character of a path.
	name := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(absolute), "/")}
	name.RawQuery = "_busy_timeout=5000&_synchronous=NORMAL&_error_rc=1" +
		"&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(16384)"
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		name.RawQuery += "&_journal_mode=WAL"
	}
	return sql.Open("sqlite", name.String())
}

func upsert(rows int) string {
	return upsertHead + strings.Repeat(upsertRow+", ", rows-1) + upsertRow + upsertTail
}

func timestamp() string { return time.Now().UTC().Format(time.RFC3339) }

// commit writes the batch in one transaction. After an error none of it is
// written.
func (s *sink) commit(batch []row) error {
	if len(batch) == 0 {
		return nil
	}
	if err := s.execute("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := s.upsertAll(batch)
	if err == nil {
		err = s.execute("COMMIT")
	}
	if err != nil {
		// Some errors, such as a full disk, have rolled back the transaction
		// already. Then ROLLBACK fails, too.
		_ = s.execute("ROLLBACK")
	}
	return err
}

func (s *sink) upsertAll(batch []row) error {
	for len(batch) >= rowsPerStatement {
		if err := s.upsert(s.many, batch[:rowsPerStatement]); err != nil {
			return err
		}
		batch = batch[rowsPerStatement:]
	}
	for i := range batch {
		if err := s.upsert(s.one, batch[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) upsert(statement *sql.Stmt, rows []row) error {
	s.arguments = s.arguments[:0]
	for _, row := range rows {
		s.arguments = append(s.arguments, s.run, row.Key, int64(row.Value.count))
	}
	_, err := statement.ExecContext(context.Background(), s.arguments...)
	return err
}

func (s *sink) execute(statement string) error {
	_, err := s.connection.ExecContext(context.Background(), statement)
	return err
}

// finish records the end of the run, and closes the database.
func (s *sink) finish(events uint64) error {
	_, err := s.connection.ExecContext(context.Background(),
		"UPDATE ingest_runs SET finished = ?, events = ? WHERE run = ?", timestamp(), int64(events), s.run)
	return errors.Join(err, s.close())
}

// close closes what is open.
func (s *sink) close() error {
	var errs []error
	for _, statement := range []*sql.Stmt{s.one, s.many} {
		if statement != nil {
			errs = append(errs, statement.Close())
		}
	}
	if s.connection != nil {
		errs = append(errs, s.connection.Close())
	}
	if s.database != nil {
		errs = append(errs, s.database.Close())
	}
	return errors.Join(errs...)
}

// discard removes the database if it is temporary.
func (s *sink) discard() {
	if s.temporary {
		_ = os.RemoveAll(filepath.Dir(s.path)) // the system removes the rest
	}
}
