package worker

import (
	"errors"
	"time"
)

// RequeueDelay returns the delay of a [RequeueAfter] that err is or wraps, and
// whether a [Pool] reads it as one. So code around a handler can tell a request
// from a failure.
func RequeueDelay(err error) (after time.Duration, ok bool) {
	if IsPermanent(err) {
		return 0, false
	}
	delay, ok := errors.AsType[requeue](err)
	return time.Duration(delay), ok
}

// IsPermanent reports whether err is or wraps a [Permanent], so that a [Pool]
// discards the item.
func IsPermanent(err error) bool {
	_, is := errors.AsType[*permanent](err)
	return is
}
