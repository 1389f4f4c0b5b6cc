// Package clustertest starts NATS servers in this process, for tests of
// programs that use package cluster.
//
//	servers := clustertest.Start(t, 3)
//	node, err := cluster.Join(ctx, cluster.Options[string]{
//		Name: "invoices", Servers: servers.URLs(), Replicas: 3, Lease: 2 * time.Second,
//	})
package clustertest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Servers are NATS servers with JetStream, in a cluster if there are several.
// All methods are safe for concurrent use.
type Servers struct {
	options []*server.Options

	mu      sync.Mutex
	running []*server.Server
}

// Start starts n servers, and stops them at the end of the test.
func Start(t testing.TB, n int) *Servers {
	t.Helper()
	s, err := New(t.TempDir(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New starts n servers on free ports of 127.0.0.1, with their data in dir.
func New(dir string, n int) (*Servers, error) {
	if n < 1 {
		return nil, fmt.Errorf("clustertest: %d servers: want 1 or more", n)
	}
	ports, err := freePorts(2 * n)
	if err != nil {
		return nil, err
	}
	s := &Servers{options: make([]*server.Options, n), running: make([]*server.Server, n)}
	var routes []*url.URL
	for _, port := range ports[n:] {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprintf("server-%d", i), Host: "127.0.0.1", Port: ports[i], NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i)),
		}
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "clustertest", Host: "127.0.0.1", Port: ports[n+i]}
			o.Routes = routes
		}
		s.options[i] = o
	}
	if err := s.RestartAll(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// URLs returns the addresses of all servers, with commas between them.
func (s *Servers) URLs() (all string) {
	for i := range s.options {
		all += "," + s.URL(i)
	}
	return all[1:]
}

// URL returns the address of a server.
func (s *Servers) URL(i int) string { return fmt.Sprintf("nats://127.0.0.1:%d", s.options[i].Port) }

func (s *Servers) begin(i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[i] != nil {
		return nil
	}
	one, err := server.NewServer(s.options[i].Clone())
	if err == nil {
		s.running[i] = one
		go one.Start()
	}
	return err
}

// Restart starts a server that was stopped, with its port and data.
func (s *Servers) Restart(i int) error {
	if err := s.begin(i); err != nil {
		return err
	}
	return s.ready()
}

// RestartAll starts all servers that were stopped.
func (s *Servers) RestartAll() error {
	for i := range s.options {
		if err := s.begin(i); err != nil {
			return err
		}
	}
	return s.ready()
}

// Stop stops a server, as a clean end of its process does.
func (s *Servers) Stop(i int) {
	s.mu.Lock()
	one := s.running[i]
	s.running[i] = nil
	s.mu.Unlock()
	if one != nil {
		one.Shutdown()
		one.WaitForShutdown()
	}
}

// Leader returns the server that leads a stream, if any.
func (s *Servers) Leader(stream string) (i int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.running {
		if one != nil && one.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return i, true
		}
	}
	return 0, false
}

// Close stops all servers.
func (s *Servers) Close() {
	for i := range s.options {
		s.Stop(i)
	}
}

func (s *Servers) ready() error {
	const readyWithin = 30 * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	running := slices.DeleteFunc(slices.Clone(s.running), func(one *server.Server) bool { return one == nil })
	deadline := time.Now().Add(readyWithin)
	for _, one := range running {
		if !one.ReadyForConnections(time.Until(deadline)) {
			return errors.New("clustertest: a server is not ready")
		}
	}
	for len(s.options) > 1 && !areTogether(running) {
		if time.Now().After(deadline) {
			return errors.New("clustertest: the servers have no leader that has heard of all")
		}
		time.Sleep(10 * time.Millisecond) // the servers do not tell
	}
	return nil
}

// areTogether reports whether the leader has heard that all are up to date.
func areTogether(running []*server.Server) bool {
	var peers []string // as the leader knows them
	for _, one := range running {
		if one.JetStreamIsLeader() {
			peers = one.JetStreamClusterPeers()
		}
	}
	return !slices.ContainsFunc(running, func(one *server.Server) bool {
		return !one.JetStreamIsCurrent() || !slices.Contains(peers, one.Name())
	})
}
