package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	_ "modernc.org/sqlite"

	"github.com/shardq/shardq/cluster"
)

type sink struct{ db *sql.DB }

// schema has the greatest epoch of each partition, to refuse writes of workers
// that have lost it. The log is only for the proof at the end.
const schema = `
CREATE TABLE IF NOT EXISTS fences (partition INTEGER PRIMARY KEY, epoch INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS counts (identifier TEXT PRIMARY KEY, n INTEGER NOT NULL, sequence INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY AUTOINCREMENT, partition INTEGER, epoch INTEGER, repeated INTEGER);
CREATE TABLE IF NOT EXISTS refused (id INTEGER PRIMARY KEY AUTOINCREMENT, partition INTEGER, epoch INTEGER);
CREATE TABLE IF NOT EXISTS waiting (partition INTEGER, epoch INTEGER);
`

// With _txlock=immediate transactions follow one another.
func openSink(file string) (*sink, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(schema); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("the database %s: %w", file, err)
	}
	return &sink{db}, nil
}

// count checks the fence in the transaction that counts.
func (s *sink) count(ctx context.Context, c cluster.Claim[string]) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after Commit
	fence := c.Fence()
	if err := advance(ctx, tx, fence); err != nil {
		err = errors.Join(err, tx.Rollback())
		_, noted := s.db.ExecContext(context.WithoutCancel(ctx),
			`INSERT INTO refused (partition, epoch) VALUES (?, ?)`, fence.Partition, fence.Epoch)
		return errors.Join(err, noted)
	}
	var n int
	var sequence uint64
	err = tx.QueryRowContext(ctx, `SELECT n, sequence FROM counts WHERE identifier = ?`, c.Key).Scan(&n, &sequence)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	repeated := 0
	for _, value := range c.Values() {
		if value.Sequence <= sequence {
			repeated++ // a run before has counted it, and could not say so
			continue
		}
		n, sequence = n+1, value.Sequence
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO counts VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET n = excluded.n, sequence = excluded.sequence`, c.Key, n, sequence)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO log (partition, epoch, repeated) VALUES (?, ?, ?)`,
			fence.Partition, fence.Epoch, repeated)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// countLate returns a handler whose first write waits until an input ends.
func (s *sink) countLate(input io.Reader) func(context.Context, cluster.Claim[string]) error {
	var once sync.Once
	return func(ctx context.Context, c cluster.Claim[string]) error {
		var err error
		once.Do(func() {
			_, err = s.db.ExecContext(ctx, `INSERT INTO waiting VALUES (?, ?)`, c.Fence().Partition, c.Fence().Epoch)
			_, read := io.Copy(io.Discard, input)
			err = errors.Join(err, read)
			ctx = context.WithoutCancel(ctx) // a write may begin just before its context ends
		})
		if err != nil {
			return err
		}
		return s.count(ctx, c)
	}
}

// waitFor waits until a query returns a row, and scans it.
func (s *sink) waitFor(ctx context.Context, query string, arguments []any, to ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := s.db.QueryRowContext(ctx, query, arguments...).Scan(to...)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		wait(ctx, 10*time.Millisecond)
	}
}

func advance(ctx context.Context, tx *sql.Tx, f cluster.Fence) error {
	result, err := tx.ExecContext(ctx, `INSERT INTO fences VALUES (?, ?)
		ON CONFLICT DO UPDATE SET epoch = excluded.epoch WHERE excluded.epoch >= fences.epoch`, f.Partition, f.Epoch)
	if err != nil {
		return err
	}
	if changed, err := result.RowsAffected(); err != nil || changed > 0 {
		return err
	}
	stale := &cluster.FenceError{}
	err = tx.QueryRowContext(ctx, `SELECT epoch FROM fences WHERE partition = ?`, f.Partition).Scan(&stale.Epoch)
	return cmp.Or(err, error(stale))
}

func (s *sink) counts(ctx context.Context) (counts map[string]int, err error) {
	var text []byte
	row := s.db.QueryRowContext(ctx, `SELECT json_group_object(identifier, n) FROM counts`)
	if err = row.Scan(&text); err == nil {
		err = json.Unmarshal(text, &counts)
	}
	return counts, err
}

type proof struct {
	writes, repeated, refused int
	stale                     int // accepted writes with an epoch less than an earlier one's
	takeovers                 int // changes of a partition's epoch
}

func (s *sink) proof(ctx context.Context) (p proof, err error) {
	err = s.db.QueryRowContext(ctx, `
		WITH ordered AS (
			SELECT id, epoch, repeated,
				max(epoch) OVER (PARTITION BY partition ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
			FROM log)
		SELECT count(*), coalesce(sum(repeated), 0), coalesce(sum(epoch < latest), 0), coalesce(sum(epoch > latest), 0),
			(SELECT count(*) FROM refused)
		FROM ordered`).Scan(&p.writes, &p.repeated, &p.stale, &p.takeovers, &p.refused)
	return p, err
}
