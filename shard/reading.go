package shard

// A reading is what the clock said, and the last of the driver's looks at the clock to
// begin before it was taken, or just after.
//
// The race to lose would be this: the driver reads the clock; the clock is set back; an
// AddAfter reads it, and files a deadline that is before the driver's reading; the driver
// makes the item ready, too early. Nobody can read a clock of the user's under a lock,
// so the shard remembers what was filed during the look, and the driver goes only as
// far as the earliest reading among those. What it leaves is for its next look, which is
// at once.
type reading struct {
	now  uint64
	look uint16
	// nanoseconds is the same, finer.
	nanoseconds uint64
}

// look begins a look at the clock. It counts before it reads: who reads the clock after
// that finds the count.
func (d *driver[T]) look() reading {
	count := uint16(d.looks.Add(1))
	return d.reading(d.set.time.nanoseconds(), count)
}

// taken returns the reading of who has just read the clock, in nanoseconds.
func (d *driver[T]) taken(now uint64) reading { return d.reading(now, d.count()) }

func (d *driver[T]) reading(now uint64, look uint16) reading {
	return reading{now: now / d.set.time.tick, look: look, nanoseconds: now}
}

// count returns the count of the looks that have begun, modulo its range.
func (d *driver[T]) count() uint16 { return uint16(d.looks.Load()) }

// filed remembers the reading by which a timer was filed, if the driver has not begun
// another look since: that one will be after the reading. A count that has come round
// again is mistaken for the present one, which makes a driver look twice.
func (w *wheel) filed(at reading, looks uint16) {
	switch {
	case at.look != looks:
	case at.look != w.filedIn:
		w.filedIn, w.filedAt = at.look, at.now
	default:
		w.filedAt = min(w.filedAt, at.now)
	}
}

// safe returns how far the wheel may go by the driver's reading; or to never, if that is
// where it is sent.
func (w *wheel) safe(at reading) uint64 {
	if at.look == w.filedIn && at.now != never {
		return min(at.now, w.filedAt)
	}
	return at.now
}
