package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// A Key names an object. The queue has nothing else.
type Key struct{ Tenant, Name string }

func (k Key) String() string { return k.Tenant + "/" + k.Name }

// A version is the state of an object, desired or observed. The zero version
// means that there is none.
type version struct {
	spec       string
	generation int64
}

// schema creates the tables, beside any others. The table discarded has the
// generations that the API refused for good.
const schema = `
CREATE TABLE IF NOT EXISTS desired (
	tenant TEXT, name TEXT, spec TEXT NOT NULL, generation INTEGER NOT NULL,
	PRIMARY KEY (tenant, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS observed (
	tenant TEXT, name TEXT, spec TEXT NOT NULL, generation INTEGER NOT NULL,
	PRIMARY KEY (tenant, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS discarded (
	tenant TEXT, name TEXT, generation INTEGER NOT NULL, reason TEXT NOT NULL,
	PRIMARY KEY (tenant, name)) WITHOUT ROWID;
`

// A state is the database. It is safe for concurrent use.
type state struct{ database *sql.DB }

// openState opens or creates the database at path.
func openState(path string) (*state, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// A URI may contain any character of a path.
	name := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(absolute), "/")}
	name.RawQuery = "_busy_timeout=5000&_synchronous=NORMAL&_journal_mode=WAL&_error_rc=1"
	database, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	// One connection: SQLite has one writer anyway, and there is no locked
	// database.
	database.SetMaxOpenConns(1)
	if _, err = database.Exec(schema); err != nil {
		return nil, errors.Join(err, database.Close())
	}
	return &state{database}, nil
}

// create adds desired objects, unless they exist.
func (s *state) create(keys []Key, spec func() string) error {
	return s.write("INSERT INTO desired VALUES (?1, ?2, ?3, 1) ON CONFLICT DO NOTHING", keys, spec)
}

// change changes the desired specs of objects, each with a new generation.
func (s *state) change(keys []Key, spec func() string) error {
	return s.write("UPDATE desired SET spec = ?3, generation = generation + 1 WHERE tenant = ?1 AND name = ?2", keys, spec)
}

// write runs a statement for each object in one transaction.
func (s *state) write(statement string, keys []Key, spec func() string) error {
	transaction, err := s.database.Begin()
	if err != nil {
		return err
	}
	defer transaction.Rollback() // no effect after Commit
	prepared, err := transaction.Prepare(statement)
	for i := 0; err == nil && i < len(keys); i++ {
		_, err = prepared.Exec(keys[i].Tenant, keys[i].Name, spec())
	}
	if err != nil {
		return err
	}
	return transaction.Commit()
}

// keys returns all desired objects: the list with which a controller begins.
func (s *state) keys() (keys []Key, err error) {
	rows, err := s.database.Query("SELECT tenant, name FROM desired")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key Key
		if err := rows.Scan(&key.Tenant, &key.Name); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

// read returns the desired and the observed version of an object.
func (s *state) read(ctx context.Context, key Key) (desired, observed version, err error) {
	err = s.database.QueryRowContext(ctx, `
		SELECT d.spec, d.generation, coalesce(o.spec, ''), coalesce(o.generation, 0)
		FROM desired d LEFT JOIN observed o USING (tenant, name) WHERE d.tenant = ? AND d.name = ?`, key.Tenant, key.Name).
		Scan(&desired.spec, &desired.generation, &observed.spec, &observed.generation)
	return desired, observed, err
}

// observe records a new observed version. Only the API calls it.
func (s *state) observe(key Key, now version) error {
	_, err := s.database.Exec("INSERT OR REPLACE INTO observed VALUES (?, ?, ?, ?)", key.Tenant, key.Name, now.spec, now.generation)
	return err
}

// discard records that a generation of the object was refused for good.
func (s *state) discard(key Key, refused *refusal) error {
	_, err := s.database.Exec("INSERT OR REPLACE INTO discarded VALUES (?, ?, ?, ?)", key.Tenant, key.Name, refused.generation, refused.reason)
	return err
}
