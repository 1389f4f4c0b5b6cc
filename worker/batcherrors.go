package worker

// FailAll returns the result of a HandleBatch in which each of n items failed
// with err. If err is nil, all succeeded.
func FailAll(n int, err error) []error {
	if err == nil {
		return nil
	}
	return FailFrom(n, 0, err)
}

// FailFrom returns the result of a HandleBatch in which the first items
// succeeded, and those from the index first on failed with err: a writer that
// stops at the first error, for example. If first is n, all succeeded.
//
// An index below 0 or above n panics.
func FailFrom(n, first int, err error) []error {
	errs := make([]error, n)
	failed := errs[first:]
	for i := range failed {
		failed[i] = err
	}
	return errs
}

// FailSome returns the result of a HandleBatch in which those of n items failed
// whose indexes are in failed, each with its error. If failed is empty, all
// succeeded.
//
// An index below 0 or not below n panics.
func FailSome(n int, failed map[int]error) []error {
	if len(failed) == 0 {
		return nil
	}
	errs := make([]error, n)
	for i, err := range failed {
		errs[i] = err
	}
	return errs
}
