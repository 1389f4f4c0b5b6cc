package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A proxy is what managers take for the API server. It counts the writes that
// the API server accepted, and makes faults.
type proxy struct {
	server  *httptest.Server
	tasks   *tasks
	target  atomic.Pointer[server]
	writes  atomic.Int64
	delay   atomic.Int64 // of each write, in nanoseconds
	overlap atomic.Int64 // writes of a task while another write of it ran

	mu      sync.Mutex
	writing map[string]int
	watches map[int]context.CancelFunc
	next    int
}

func newProxy(target *server, t *tasks) *proxy {
	p := &proxy{tasks: t, writing: map[string]int{}, watches: map[int]context.CancelFunc{}}
	p.target.Store(target)
	p.server = httptest.NewServer(p)
	return p
}

// ServeHTTP passes a request on. While there is no API server, it closes the
// connection.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := p.target.Load()
	if target == nil {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Query().Get("watch") == "true" {
		ctx, cancel := context.WithCancel(r.Context())
		defer p.watch(cancel)()
		r = r.WithContext(ctx)
	}
	onward := &httputil.ReverseProxy{
		Rewrite:       func(to *httputil.ProxyRequest) { to.SetURL(target.address()) },
		Transport:     target.client.Transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	key, isWrite := strings.CutSuffix(r.URL.Path, "/status")
	if !isWrite {
		onward.ServeHTTP(w, r)
		return
	}
	p.write(onward, w, r, keyOf(key))
}

// keyOf returns namespace/name of the path of a task.
func keyOf(path string) string {
	parts := strings.Split(path, "/")
	return parts[len(parts)-3] + "/" + parts[len(parts)-1]
}

// write passes on the write of a status, and notes it if it is accepted.
func (p *proxy) write(onward *httputil.ReverseProxy, w http.ResponseWriter, r *http.Request, key string) {
	p.mu.Lock()
	if p.writing[key]++; p.writing[key] > 1 {
		p.overlap.Add(1)
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.writing[key]--; p.writing[key] == 0 {
			delete(p.writing, key)
		}
	}()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	time.Sleep(time.Duration(p.delay.Load()))
	onward.ModifyResponse = func(answer *http.Response) error {
		var written Task
		if answer.StatusCode == http.StatusOK && json.Unmarshal(body, &written) == nil {
			p.writes.Add(1)
			p.tasks.wrote(key, written.Status)
		}
		return nil
	}
	onward.ServeHTTP(w, r)
}

// watch remembers a watch until the returned function is called.
func (p *proxy) watch(cancel context.CancelFunc) (ended func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	number := p.next
	p.watches[number] = cancel
	return func() {
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, number)
	}
}

// dropWatches ends all watches.
func (p *proxy) dropWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.watches {
		cancel()
	}
}
