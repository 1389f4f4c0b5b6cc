package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A patch that does not apply proves nothing. A change of the code that a
// mistake lies in renews the patch.
func TestPatchesApply(t *testing.T) {
	mutants, err := readMutants("patches", "")
	require.NoError(t, err)
	for _, m := range mutants {
		assert.NoError(t, m.apply("../..", "--check"))
	}
}
