package worker

import "fmt"

// FailAll returns the result of a HandleBatch in which each of n items failed
// with err. If err is nil, all succeeded.
//
// FailAll panics if n is below 0.
func FailAll(n int, err error) []error {
	checkCount("FailAll", n)
	if err == nil {
		return nil
	}
	return FailFrom(n, 0, err)
}

// FailFrom returns the result of a HandleBatch in which the first items
// succeeded, and those from the index first on failed with err: a writer that
// stops at the first error, for example. If first is n, all succeeded.
//
// FailFrom panics if n is below 0, or if first is below 0 or above n.
func FailFrom(n, first int, err error) []error {
	checkCount("FailFrom", n)
	if first < 0 || first > n {
		panic(fmt.Sprintf("worker: FailFrom was called with first %d: want 0 to n, which is %d", first, n))
	}
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
// FailSome panics if n is below 0, or if an index is below 0 or not below n.
func FailSome(n int, failed map[int]error) []error {
	checkCount("FailSome", n)
	if len(failed) == 0 {
		return nil
	}
	errs := make([]error, n)
	for i, err := range failed {
		if i < 0 || i >= n {
			panic(fmt.Sprintf("worker: FailSome was called with the index %d in failed: want 0 or more and below n, which is %d", i, n))
		}
		errs[i] = err
	}
	return errs
}

func checkCount(function string, n int) {
	if n < 0 {
		panic(fmt.Sprintf("worker: %s was called with n %d: want 0 or more", function, n))
	}
}
