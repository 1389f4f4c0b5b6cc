package itemmap

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeysOfAnInterface: a pointer is found by its address, and nil is a key.
func TestKeysOfAnInterface(t *testing.T) {
	m, target := New[any, int](), 1
	m.Store(&target, 1)
	m.Store(nil, 2)
	target++
	for key, want := range map[any]int{&target: 1, nil: 2} {
		got, ok := m.Load(key)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
}
