package cluster

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lockDirectory makes a directory, and locks it for this process. The lock ends
// with the process, also if it is killed.
func lockDirectory(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cluster: the directory of the server: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = fmt.Errorf("another process uses it")
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: lock the directory %s: %w", dir, err)
	}
	return func() { _ = lock.Unlock() }, nil
}
