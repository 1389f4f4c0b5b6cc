package registry

import "github.com/shardq/shardq"

// A Reading is the state of a queue at one time.
type Reading struct {
	*Row
	// Stats is the state. Read is false if the queue panicked, and Stats is
	// then incomplete.
	Stats shardq.Stats
	Read  bool
	// Failures counts the reads in which the queue panicked.
	Failures uint64
}

// Read reads each queue once, in no particular order. It removes closed queues
// and does not return them. A queue that panics, because its clock or its
// limiter does, is returned without having been read.
func (r *Registry) Read() []Reading {
	rows := r.list()
	readings := make([]Reading, 0, len(rows))
	for _, row := range rows {
		if reading, open := r.read(row); open {
			readings = append(readings, reading)
		}
	}
	return readings
}

// read reads a queue, and removes it if it is closed.
func (r *Registry) read(row *Row) (reading Reading, open bool) {
	reading.Row = row
	reading.Stats, reading.Read = row.stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !reading.Read {
		row.failures++
	}
	reading.Failures = row.failures
	if reading.Read && closed(&reading.Stats) {
		if r.rows[row.Name] == row { // another queue may have its name by now
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

// closed reports whether a queue is shut down and holds no items. That is
// final, because no shard accepts an item after a shutdown has begun.
func closed(s *shardq.Stats) bool {
	return s.ShuttingDown && s.Ready == 0 && s.Processing == 0 && s.Delayed == 0
}
