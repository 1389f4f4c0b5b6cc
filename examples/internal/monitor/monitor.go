// Package monitor serves the queues of an example program while it runs:
//
//	/              the live page
//	/metrics       for Prometheus
//	/debug/vars    the same as JSON, and the memory of the program
//	/debug/pprof/  profiles, in which the workers are labeled
package monitor

import (
	"context"
	"expvar"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
	"github.com/shardq/shardq/observe/expvars"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// mostGroups is the number of groups of a queue with series of their own.
const mostGroups = 20

// closing limits the time for which open requests delay the end of the program.
const closing = time.Second

// A Monitor is a server.
type Monitor struct {
	server   *http.Server
	listener net.Listener
	ended    chan struct{}
}

// Start listens on an address, such as 127.0.0.1:6060. Port 0 selects a free
// port. It serves the queues until Close, to clients on this machine: see
// [debugpage.Local]. The queues must have metrics.
func Start(address, title string, queues ...shardq.Inspector) (*Monitor, error) {
	handler, err := handler(title, queues)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	m := &Monitor{
		server:   &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
		listener: listener,
		ended:    make(chan struct{}),
	}
	go func() {
		defer close(m.ended)
		_ = m.server.Serve(listener) // returns http.ErrServerClosed
	}()
	return m, nil
}

// URL returns the address of the page, for a browser on this machine.
func (m *Monitor) URL() string { return fmt.Sprintf("http://%v/", reachable(m.listener.Addr())) }

// reachable returns an address at which a listener can be reached. For a
// listener on all addresses, it is the loopback address.
func reachable(address net.Addr) net.Addr {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return address
	}
	loopback := net.IPv6loopback
	if tcp.IP.To4() != nil {
		loopback = net.IPv4(127, 0, 0, 1)
	}
	return &net.TCPAddr{IP: loopback, Port: tcp.Port}
}

// Close stops the server. It does nothing if the Monitor is nil.
func (m *Monitor) Close() {
	if m == nil {
		return
	}
	ctx, release := context.WithTimeout(context.Background(), closing)
	defer release()
	if m.server.Shutdown(ctx) != nil {
		_ = m.server.Close()
	}
	<-m.ended
}

func handler(title string, queues []shardq.Inspector) (http.Handler, error) {
	page, err := debugpage.New(debugpage.Options{Title: title, Queues: queues, PollEvery: time.Second})
	if err != nil {
		return nil, err
	}
	collector, err := shardqprom.NewCollector(shardqprom.Options{Groups: mostGroups}, queues...)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	stats, err := expvars.Func(queues...)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/vars", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprintf(w, "{\"queues\": %v, \"memstats\": %v}\n", stats, expvar.Get("memstats"))
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return localOnly(mux), nil
}

// localOnly rejects requests from other machines, because profiles and series
// reveal as much as the page.
func localOnly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !debugpage.Local(r) {
			http.Error(w, "only for clients on the same machine, asking for a local host", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
