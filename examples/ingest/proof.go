package main

import (
	"database/sql"
	"fmt"
)

// A proof compares the database with what was read.
type proof struct {
	read   tally  // counted by the readers
	stored tally  // counted in the database
	lost   tally  // events whose writes failed for good
	keys   uint64 // distinct keys in the database
}

// prove reads the rows of the run through a new connection, as another program
// would.
func prove(path string, run int64, read, lost tally) (proof, error) {
	p := proof{read: read, lost: lost}
	database, err := openDatabase(path)
	if err != nil {
		return p, err
	}
	defer database.Close()
	rows, err := database.Query("SELECT key, count FROM ingest_counts WHERE run = ?", run)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	var key sql.RawBytes
	var count uint64
	for rows.Next() {
		if err := rows.Scan(&key, &count); err != nil {
			return p, err
		}
		p.stored.add(count, hashKey(key))
		p.keys++
	}
	return p, rows.Err()
}

// verdict returns nil if every event that was read is in the database once,
// with its key, or an error that describes the difference.
func (p proof) verdict() error {
	switch accounted := p.stored.plus(p.lost); {
	case accounted.events != p.read.events:
		return fmt.Errorf("%d events were read, but the database has %d and %d failed for good",
			p.read.events, p.stored.events, p.lost.events)
	case accounted.checksum != p.read.checksum:
		return fmt.Errorf("the database has all %d events, but not with the same keys: checksum %016x, not %016x",
			p.read.events, accounted.checksum, p.read.checksum)
	case p.lost.events > 0:
		return fmt.Errorf("%d of the %d events failed for good; the others are in the database", p.lost.events, p.read.events)
	}
	return nil
}
