package main

import (
	"fmt"
	"os"
)

// The sizes of the file that tells whether there is room: for a whole run, and
// to go on.
const (
	roomToRun  = 64 << 20
	roomToGoOn = 1 << 20
)

// room returns an error unless the directory has room for a file of that size.
func room(dir string, size int) error {
	f, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err = f.Write(make([]byte, size)); err != nil {
		return fmt.Errorf("the servers and the database need %d MiB: %w (TMPDIR selects another place)", size>>20, err)
	}
	return nil
}
