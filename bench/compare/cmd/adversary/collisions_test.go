package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestKeysOfAFamilyAreDifferentAndHaveOneHash uses the hash of the libraries,
// not one that was written here.
func TestKeysOfAFamilyAreDifferentAndHaveOneHash(t *testing.T) {
	const n = 1 << 14
	for _, f := range families {
		keys := f.keys(n)
		different := map[string]bool{}
		for _, key := range keys {
			different[key] = true
			assert.Len(t, key, len(keys[0]))
		}
		assert.Len(t, different, n, f.name)
		assert.Equal(t, n, f.alike(keys), f.name)
		assert.Equal(t, 1, f.alike(randomKeys(n, len(keys[0]))), "%s: others do not collide", f.name)
	}
}

func TestKeysAreTheSameInEveryRun(t *testing.T) {
	for _, f := range families {
		assert.Equal(t, f.keys(100), f.keys(100))
	}
	assert.Equal(t, randomKeys(100, 8), randomKeys(100, 8))
}

// TestBlocksOfAPairAreGoodFromAnyState checks them from states that no key
// leads to, too.
func TestBlocksOfAPairAreGoodFromAnyState(t *testing.T) {
	for _, f := range []fnv1a{fnv1a32, fnv1a64} {
		rapid.Check(t, func(r *rapid.T) {
			state := rapid.Uint64().Draw(r, "state") & f.mask
			pair, next := f.pair(state, seeded())
			assert.NotEqual(r, pair[0], pair[1])
			for _, block := range pair {
				assert.Equal(r, next, f.after(state, block[:]))
			}
		})
	}
}

// after is FNV-1a as its authors define it.
func (f fnv1a) after(state uint64, input []byte) uint64 {
	for _, b := range input {
		state = (state ^ uint64(b)) * f.prime & f.mask
	}
	return state
}

func TestInverse(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		odd := rapid.Uint64().Draw(r, "x") | 1
		assert.Equal(r, uint64(1), odd*inverse(odd))
	})
}
