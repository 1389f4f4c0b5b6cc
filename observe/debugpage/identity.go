package debugpage

import (
	"fmt"
	"hash/maphash"
)

// idSeed makes the ids of items and groups. It is random, so that an id says
// nothing about a key that is redacted, and ends with the process.
var idSeed = maphash.MakeSeed()

// itemID returns a text that selects an item in a request.
func itemID(item any) string { return fmt.Sprintf("%016x", maphash.Comparable(idSeed, item)) }

// groupID returns a text that selects a group in a request.
func groupID(group string) string { return fmt.Sprintf("%016x", maphash.String(idSeed, group)) }
