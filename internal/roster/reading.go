package roster

import "github.com/shardq/shardq"

// A Reading is what a queue said of itself.
type Reading struct {
	*Row
	// Stats is what the queue said; Read is false if it said nothing, because it panicked.
	Stats shardq.Stats
	Read  bool
	// Failures counts how often the queue panicked when it was read.
	Failures uint64
}

// Read reads each queue once, in no order, and takes out those that are closed: they are not among
// what it returns. A queue that panics, for its clock or its limiter did, is among them without
// having been read.
func (r *Roster) Read() []Reading {
	rows := r.list()
	readings := make([]Reading, 0, len(rows))
	for _, row := range rows {
		if reading, open := r.read(row); open {
			readings = append(readings, reading)
		}
	}
	return readings
}

// read reads a queue, and takes it out if it is closed.
func (r *Roster) read(row *Row) (reading Reading, open bool) {
	reading.Row = row
	reading.Stats, reading.Read = row.stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !reading.Read {
		row.failures++
	}
	reading.Failures = row.failures
	if reading.Read && closed(&reading.Stats) {
		if r.rows[row.Name] == row { // and not another one that was added under its name
			delete(r.rows, row.Name)
		}
		return reading, false
	}
	return reading, true
}

func (row *Row) stats() (stats shardq.Stats, ok bool) {
	defer func() {
		if !ok {
			_ = recover()
		}
	}()
	stats = row.Queue.Stats()
	return stats, stats.Metrics != nil
}

// closed reports whether a queue is shut down and has nothing left to do. That does not change any
// more: once a shutdown has begun, no shard takes anything in.
func closed(s *shardq.Stats) bool {
	return s.ShuttingDown && s.Ready == 0 && s.Processing == 0 && s.Waiting == 0
}
