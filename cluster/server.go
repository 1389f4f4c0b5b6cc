package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

func (o Options[K]) startServer() (s *server.Server, stop func(), err error) {
	dir := o.Dir
	if dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, nil, fmt.Errorf("cluster: Options.Dir is empty, and there is no default: %w", err)
		}
		dir = filepath.Join(config, "shardq", o.Name)
	}
	unlock, err := lockDirectory(dir)
	if err != nil {
		return nil, nil, err
	}
	s, err = server.NewServer(&server.Options{
		ServerName: "shardq-" + o.Name, DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true,
		SyncAlways: true, // a key that was added survives a loss of power
	})
	if err != nil {
		unlock()
		return nil, nil, fmt.Errorf("cluster: start a server in %s: %w", dir, err)
	}
	go s.Start()
	stop = func() {
		s.Shutdown()
		s.WaitForShutdown()
		unlock()
	}
	if !s.ReadyForConnections(20*time.Second) || !s.JetStreamEnabled() {
		stop()
		return nil, nil, fmt.Errorf("cluster: the server in %s cannot open its store: is the directory writable, and not full?", dir)
	}
	return s, stop, nil
}

func lockDirectory(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cluster: the directory of the server: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = errors.New("another process uses it")
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: lock the directory %s: %w", dir, err)
	}
	return func() { _ = lock.Unlock() }, nil
}
