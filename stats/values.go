package stats

// Values count the pending values of a coalescer: see package coalesce.
type Values struct {
	// Keys is the number of keys with a pending value.
	Keys int
	// Lingering is the number of keys that wait for more values, because of
	// Options.Linger. Keys whose wait has ended, and that no Take has returned
	// yet, may count too if the queue has other delays.
	Lingering int
	// Weight is the total weight of the pending values. It equals Keys unless
	// the coalescer weighs its values.
	Weight int
	// Capacity is the greatest weight that TryPut and PutContext allow. If
	// zero, there is no limit.
	Capacity int
	// Put counts the values that were accepted, and Merged those of them whose
	// key had a pending value.
	Put, Merged uint64
	// OverCapacity counts how often the capacity was exceeded: by a Put, by a
	// value that was given back, or by a value that weighs more since a merge.
	// One Put may count more than once.
	OverCapacity uint64
}
