package coalesce

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/itemlimit"
)

// MaxValueWeight is the greatest weight of a value: a tebibyte, if weights are
// bytes. On 32-bit platforms it is the greatest int.
const MaxValueWeight = min(1<<40, math.MaxInt)

// Options configure a [Coalescer]. [New] reads them once.
type Options[K comparable, V any] struct {
	// Queue configures the queue of keys. Its Capacity must be 0, because the
	// coalescer has its own.
	Queue shardq.Options[K]

	// Merge returns one value for two: the pending one, and the one that was
	// put next. It is required. It may change and return either (but see
	// Readable). It must be associative, as sums, maxima, appended slices and
	// "the newest wins" are: of three values, the last two may merge first.
	Merge func(pending, next V) V

	// Capacity limits the number of keys with a pending value or, with a
	// Weight, the total weight of the pending values. Only [Coalescer.TryPut]
	// and [Coalescer.PutContext] honor it. If zero, there is no limit.
	Capacity int

	// Weight returns the weight of a value, such as its bytes, from 1 to
	// [MaxValueWeight]. A value that is heavier than the Capacity has room when
	// nothing else is pending. If nil, Capacity counts keys.
	Weight func(V) int

	// PutEndsBackoff lets a value end the backoff of its key, if it is put
	// during the backoff, or between the key's Take and Retry. The key is then
	// ready at once, or after its Linger or delay.
	PutEndsBackoff bool

	// Readable allows [Coalescer.Peek] and [Coalescer.Range], which panic
	// without it. Then Merge and the workers must not modify values, or what
	// they refer to: Merge returns a new value, or one of the two.
	Readable bool

	// Linger is how long a key waits for more values, from the first one that
	// is put for it, on the queue's clock. A shutdown and a drain end it. A
	// [PutOptions].Delay and a backoff replace it.
	Linger time.Duration

	// LingerValues, if set, makes a lingering key ready once it has that many
	// values.
	LingerValues int
}

// validate leaves out the faults of Queue.
func (o Options[K, V]) validate() error {
	var faults []error
	fault := func(is bool, format string, arguments ...any) {
		if is {
			faults = append(faults, fmt.Errorf("coalesce: Options."+format, arguments...))
		}
	}
	fault(o.Merge == nil, "Merge is nil: want a function")
	fault(o.Capacity < 0, "Capacity is %d: want 0 (no limit) or more", o.Capacity)
	fault(o.Linger < 0, "Linger is %v: want 0 (none) or more", o.Linger)
	fault(o.LingerValues < 0, "LingerValues is %d: want 0 (no limit) or more", o.LingerValues)
	fault(o.LingerValues > 0 && o.Linger == 0, "LingerValues is %d: want 0 without Linger", o.LingerValues)
	fault(o.Queue.Capacity != 0, "Queue.Capacity is %d: want 0, and Options.Capacity instead", o.Queue.Capacity)
	return errors.Join(faults...)
}

// newLimit returns nil if there is neither a Capacity nor a Weight.
func (o Options[K, V]) newLimit() *itemlimit.Limiter {
	if o.Capacity == 0 && o.Weight != nil {
		return itemlimit.New(math.MaxInt64, 0, 0, nil) // it counts the weight for Stats
	}
	return itemlimit.New(int64(o.Capacity), 0, 0, nil)
}
