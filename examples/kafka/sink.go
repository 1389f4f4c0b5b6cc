package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// schema has, beside the counts, how far each partition was read: all offsets below safe,
// and a key's up to its own. The generation, which each change of members raises, is a fence.
const schema = `
CREATE TABLE IF NOT EXISTS totals (
	source TEXT, key TEXT CHECK (length(key) <= 256), records INTEGER NOT NULL, offset INTEGER NOT NULL,
	PRIMARY KEY (source, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dead_letters (
	source TEXT, key TEXT, records INTEGER NOT NULL, offset INTEGER NOT NULL, error TEXT NOT NULL,
	PRIMARY KEY (source, key, offset)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS positions (source TEXT PRIMARY KEY, safe INTEGER NOT NULL, generation INTEGER NOT NULL) WITHOUT ROWID`

var errFenced = errors.New("fenced: another member of a later generation has it, or the group is new: then delete its positions")

type sink struct{ db *sql.DB }

// A loss of power may take the last transactions back, and their positions with them.
func openSink(file string) (*sink, error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()+
		"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err = db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("-db %s: %w", file, err), db.Close())
	}
	return &sink{db}, nil
}

// claim fences earlier members, and finds where to read.
func (s *sink) claim(p *partition) error {
	_, err := s.db.Exec(`INSERT INTO positions VALUES (?, 0, ?) ON CONFLICT DO UPDATE
		SET generation = max(generation, excluded.generation)`, p.name, p.generation.Load())
	if err != nil {
		return err
	}
	rows, err := s.db.Query(`SELECT generation, safe, coalesce(key, ''), coalesce(offset, -1) FROM positions p LEFT JOIN (
			SELECT source, key, offset FROM totals UNION ALL SELECT source, key, offset FROM dead_letters
		) t ON t.source = p.source AND offset >= safe WHERE p.source = ? ORDER BY offset`, p.name)
	if err != nil {
		return err
	}
	defer rows.Close()
	p.ahead = map[string]int64{}
	for rows.Next() {
		var generation int32
		var name string
		var offset int64
		if err = rows.Scan(&generation, &p.from, &name, &offset); err != nil {
			return err
		} else if generation != p.generation.Load() {
			return fmt.Errorf("%s: %w", p.name, errFenced)
		}
		if offset >= 0 {
			p.ahead[name] = offset
		}
	}
	return rows.Err()
}

// write stores values, their offsets and safe positions in one transaction, or
// nothing if another member has one of the partitions.
func (s *sink) write(ctx context.Context, partitions []*partition, rows []row, from *events) (fenced *partition, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // without effect after Commit
	for _, p := range partitions {
		done, err := tx.Exec(`UPDATE positions SET safe = ? WHERE source = ? AND generation = ?`, p.source.Safe(), p.name, p.generation.Load())
		if err != nil {
			return nil, err
		}
		if n, _ := done.RowsAffected(); n == 0 {
			return p, errFenced
		}
	}
	add, err := tx.Prepare(`INSERT INTO totals VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET records = records + excluded.records, offset = excluded.offset`)
	for i := 0; i < len(rows) && err == nil; i++ {
		for _, offset := range from.Offsets(rows[i].Key) { // the highest of the value, which is of one partition
			err = writeRow(tx, add, rows[i], offset)
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, tx.Commit()
}

// A row that the database refuses becomes a dead letter.
func writeRow(tx *sql.Tx, add *sql.Stmt, r row, offset int64) error {
	_, err := add.Exec(r.Key.of.name, r.Key.name, r.Value, offset)
	if bad, is := errors.AsType[*sqlite.Error](err); is && bad.Code()&0xff == sqlite3.SQLITE_CONSTRAINT {
		_, err = tx.Exec(`INSERT INTO dead_letters VALUES (?, ?, ?, ?, ?)`, r.Key.of.name, r.Key.name, r.Value, offset, bad.Error())
	}
	return err
}
