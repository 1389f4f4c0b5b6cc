package member

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Owner returns the member that should own a partition, or "" without members:
// the one with the greatest hash of its id and the partition. So a member that
// joins takes only partitions that become its own, and those of one that leaves
// spread over all others. This is rendezvous hashing, by Thaler and
// Ravishankar: A Name-Based Mapping Scheme for Rendezvous, 1996.
func Owner(members []string, partition int) (owner string) {
	var greatest uint64
	for _, id := range members {
		h := score(id, partition)
		if owner == "" || h > greatest || h == greatest && id > owner {
			owner, greatest = id, h
		}
	}
	return owner
}

func score(id string, partition int) uint64 {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(partition))
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(number[:])
	_, _ = d.WriteString(id)
	return d.Sum64()
}
