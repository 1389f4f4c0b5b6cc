//go:build trial

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A proxy is what managers take for the API server.
type proxy struct {
	server  *httptest.Server
	target  atomic.Pointer[server]
	delay   atomic.Int64 // of each write, in nanoseconds
	overlap atomic.Int64 // writes of a task while another write of it ran
	writing sync.Map     // the paths of the writes that run

	watches atomic.Pointer[chan struct{}] // is closed when all watches end
}

func newProxy(target *server) *proxy {
	p := &proxy{}
	p.target.Store(target)
	p.watches.Store(new(make(chan struct{})))
	p.server = httptest.NewServer(p)
	return p
}

// ServeHTTP closes the connection while there is no API server.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := p.target.Load()
	if target == nil {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Query().Get("watch") == "true" {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func(dropped chan struct{}) {
			select {
			case <-dropped:
				cancel()
			case <-ctx.Done():
			}
		}(*p.watches.Load())
		r = r.WithContext(ctx)
	}
	if strings.HasSuffix(r.URL.Path, "/status") {
		if _, twice := p.writing.LoadOrStore(r.URL.Path, true); twice {
			p.overlap.Add(1)
		}
		defer p.writing.Delete(r.URL.Path)
		time.Sleep(time.Duration(p.delay.Load()))
	}
	onward := &httputil.ReverseProxy{
		Rewrite:       func(to *httputil.ProxyRequest) { to.SetURL(target.address()) },
		Transport:     target.client.Client.Transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	onward.ServeHTTP(w, r)
}

func (p *proxy) dropWatches() { close(*p.watches.Swap(new(make(chan struct{})))) }
