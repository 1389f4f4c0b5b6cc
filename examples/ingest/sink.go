package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

// schema has for each input a run: the counts, and how far they go. All events
// below the positions are in the counts, and of keys in ahead those up to theirs.
const schema = `
CREATE TABLE IF NOT EXISTS ingest_runs (
	run INTEGER PRIMARY KEY, input TEXT NOT NULL UNIQUE, state INTEGER NOT NULL, epoch INTEGER NOT NULL,
	started TEXT NOT NULL, finished TEXT, positions TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS ingest_ahead (
	run INTEGER, reader INTEGER, key TEXT, offset INTEGER NOT NULL, PRIMARY KEY (run, reader, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ingest_counts (
	run INTEGER NOT NULL, key TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS ingest_totals AS
	SELECT key, sum(count) AS count FROM ingest_counts GROUP BY key;
`

const isOurs = `SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)
	AND (SELECT user_version FROM pragma_user_version) = 0 AND (SELECT application_id FROM pragma_application_id) = 0
	OR (SELECT group_concat(name) FROM pragma_table_info('ingest_runs')) IS 'run,input,state,epoch,started,finished,positions'
	AND (SELECT group_concat(name) FROM pragma_table_info('ingest_counts')) IS 'run,key,count'`

const rowsPerStatement, batchesPerPrune = 64, 16 // a statement costs about half a row; a prune reads all rows of ingest_ahead

var (
	errChanged = errors.New("-input: the files have changed since the run began: want -again, to count them anew")
	errFenced  = errors.New("another ingest goes on with this run: this one ends")
)

// A sink is a database with the current run. It is not safe for concurrent use.
type sink struct {
	path      string
	temporary bool
	run       int64
	epoch     int64                   // a later process has another one, and then this one writes nothing
	positions []position              // of the readers, when the run began
	complete  bool                    // nothing is left to do
	database  *sql.DB                 // one connection
	fail      float64                 // share of the transactions
	abort     context.CancelCauseFunc // ends the reading
	broken    error                   // why nothing more can be written, or nil
	logs      []*reader
	offsets   func(key string) iter.Seq2[string, int64] // of readers in a value
	batches   int
}

func openSink(config config, input input, abort context.CancelCauseFunc) (*sink, error) {
	s := &sink{path: config.database, fail: config.fail, abort: abort}
	if s.path == "" {
		directory, err := os.MkdirTemp("", "ingest-")
		if err != nil {
			return nil, err
		}
		s.path, s.temporary = filepath.Join(directory, "ingest.db"), true
	}
	_, err := os.Stat(filepath.Dir(s.path)) // SQLite does not say what is missing
	if err == nil {
		err = s.begin(config, input)
	}
	if err != nil {
		s.discard()
		return nil, fmt.Errorf("-db %s: %w", s.path, err)
	}
	return s, nil
}

// begin begins a run or goes on with it. It writes nothing to a file that is not ingest's.
func (s *sink) begin(config config, input input) (err error) {
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
	for _, table := range []string{"ingest_counts", "ingest_ahead", "ingest_runs"} {
		if err == nil && config.again {
			_, err = tx.Exec("DELETE FROM "+table+" WHERE run IN (SELECT run FROM ingest_runs WHERE input = ?)", input.kind+" "+input.name)
		}
	}
	if err == nil {
		err = s.claim(tx, config, input)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

func (s *sink) claim(tx *sql.Tx, config config, input input) error {
	var state int64
	positions, _ := json.Marshal(make([]position, config.readers))
	err := tx.QueryRow(`INSERT INTO ingest_runs (input, state, epoch, started, positions) VALUES (?, ?, random(), datetime(), ?)
		ON CONFLICT DO UPDATE SET epoch = excluded.epoch RETURNING run, state, epoch, finished IS NOT NULL, positions`,
		input.kind+" "+input.name, input.state, string(positions)).Scan(&s.run, &state, &s.epoch, &s.complete, &positions)
	if err == nil {
		err = json.Unmarshal(positions, &s.positions)
	}
	if err == nil && state != input.state {
		err = errChanged
	}
	return err
}

// load returns the offsets of keys beyond the position of a reader.
func (s *sink) load(reader int) (ahead map[string]int64, err error) {
	rows, err := s.database.Query(`SELECT key, offset FROM ingest_ahead WHERE run = ? AND reader = ?`, s.run, reader)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ahead = map[string]int64{}
	for rows.Next() && err == nil {
		var key string
		var offset int64
		err = rows.Scan(&key, &offset)
		ahead[key] = offset
	}
	return ahead, errors.Join(err, rows.Err())
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
	err := s.commit(rows, s.batches%batchesPerPrune == 0, false)
	s.batches++
	if err == errFenced || slices.Contains(permanent, codeOf(err)) {
		s.broken = fmt.Errorf("nothing more can be written to %s: %w", s.path, err)
		s.abort(s.broken)
		return worker.Permanent(s.broken)
	}
	return err
}

// commit stores rows, the positions before them, and the offsets beyond these.
func (s *sink) commit(rows []row, prune, finished bool) error {
	tx, err := s.database.Begin()
	if err != nil {
		return err
	}
	err = s.move(tx, prune, finished)
	if err == nil {
		err = s.add(tx, rows)
	}
	if err != nil {
		_ = tx.Rollback() // a full disk has rolled it back already
		return err
	}
	if err = tx.Commit(); err != nil {
		_, _ = s.database.Exec("ROLLBACK") // a failed COMMIT may leave the transaction open
	}
	return err
}

// move stores the positions, and with prune forgets the offsets below.
func (s *sink) move(tx *sql.Tx, prune, finished bool) error {
	var positions []position
	for _, r := range s.logs {
		positions = append(positions, r.safe())
	}
	text, _ := json.Marshal(positions)
	done, err := tx.Exec(`UPDATE ingest_runs SET positions = ?, finished = CASE WHEN ? THEN datetime() END WHERE run = ? AND epoch = ?`,
		string(text), finished, s.run, s.epoch)
	if err != nil {
		return err
	}
	if n, _ := done.RowsAffected(); n == 0 {
		return errFenced
	}
	if prune {
		_, err = tx.Exec(`DELETE FROM ingest_ahead WHERE run = ?1 AND offset < (
			SELECT positions ->> ('$[' || reader || '].Offset') FROM ingest_runs WHERE run = ?1)`, s.run)
	}
	return err
}

func (s *sink) add(tx *sql.Tx, rows []row) error {
	var counts, ahead []any
	for _, r := range slices.SortedFunc(slices.Values(rows), func(a, b row) int { return strings.Compare(a.Key, b.Key) }) { // for the caches
		counts = append(counts, s.run, r.Key, r.Value)
		for reader, offset := range s.offsets(r.Key) {
			ahead = append(ahead, s.run, reader, r.Key, offset)
		}
	}
	return cmp.Or(
		insert(tx, "INSERT INTO ingest_counts VALUES ", "(?, ?, ?)", counts, " ON CONFLICT DO UPDATE SET count = count + excluded.count"),
		insert(tx, "INSERT INTO ingest_ahead VALUES ", "(?, ?, ?, ?)", ahead, " ON CONFLICT DO UPDATE SET offset = excluded.offset"))
}

func insert(tx *sql.Tx, before, row string, arguments []any, after string) (err error) {
	var statement *sql.Stmt
	columns := strings.Count(row, "?")
	for part := range slices.Chunk(arguments, rowsPerStatement*columns) {
		if n := len(part) / columns; statement == nil || n < rowsPerStatement {
			statement, err = tx.Prepare(before + row + strings.Repeat(", "+row, n-1) + after)
		}
		if err == nil {
			_, err = statement.Exec(part...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) finish(complete bool) (err error) {
	if s.broken == nil {
		err = s.commit(nil, true, complete)
	}
	return errors.Join(err, s.database.Close())
}

func (s *sink) discard() {
	if s.database != nil {
		_ = s.database.Close()
	}
	if s.temporary {
		_ = os.RemoveAll(filepath.Dir(s.path))
	}
}
