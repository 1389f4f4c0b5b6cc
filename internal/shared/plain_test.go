//go:build !countwrites

package shared_test

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/internal/shared"
)

// That these lines compile proves that a usual build counts nothing.
var (
	_ *atomic.Uint64 = (*shared.Uint64[shared.Ready])(nil)
	_ *atomic.Uint32 = (*shared.Uint32[shared.Turn])(nil)
	_ *atomic.Int64  = (*shared.Int64[shared.Held])(nil)
	_ *atomic.Int32  = (*shared.Int32[shared.Parking])(nil)
	_ *atomic.Bool   = (*shared.Bool[shared.Parking])(nil)
	_ *sync.Mutex    = (*shared.Mutex[shared.Lock])(nil)
)

// TestAliasesCostNothing: the compiler inlines the methods of sync/atomic only
// in a package that imports it. With only the aliases of its types, an add of a
// word became a call.
func TestAliasesCostNothing(t *testing.T) {
	users := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		p, err := build.ImportDir(path, 0)
		if err != nil || !slices.Contains(p.Imports, "github.com/shardq/shardq/internal/shared") {
			return nil // no package, or one that does not use the aliases
		}
		users++
		assert.Contains(t, p.Imports, "sync/atomic", path)
		assert.Contains(t, p.Imports, "sync", path)
		return nil
	}))
	assert.Positive(t, users)
}
