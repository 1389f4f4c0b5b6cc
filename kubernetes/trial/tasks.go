package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// tasks are all tasks there are: what each should be, and what was written.
type tasks struct {
	target *atomic.Pointer[server]
	keys   []string // the tasks of the flooding namespace first
	flood  int      // how many those are

	mu      sync.Mutex
	all     map[string]*taskState
	round   int64
	pending int // the tasks that are not as they should be
	settled chan struct{}
}

type taskState struct {
	value, seen, round int64
}

// namespaces is how many namespaces there are beside the one that floods. That
// one has a fifth of the tasks.
const namespaces = 20

func newTasks(n int) *tasks {
	t := &tasks{flood: n / 5, all: make(map[string]*taskState, n)}
	for i := range n {
		key := fmt.Sprintf("tenant-%d/task-%d", i%namespaces, i)
		if i < t.flood {
			key = fmt.Sprintf("flood/task-%d", i)
		}
		t.keys = append(t.keys, key)
		t.all[key] = &taskState{value: 1}
	}
	return t
}

// beginRound makes all tasks need a write.
func (t *tasks) beginRound() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.round++
	t.pending, t.settled = len(t.all), make(chan struct{})
	return t.round
}

func (s *taskState) settled(round int64) bool { return s.seen == s.value && s.round == round }

// update changes the state of a task.
func (t *tasks) update(key string, change func(*taskState)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.all[key]
	before := s.settled(t.round)
	change(s)
	switch after := s.settled(t.round); {
	case before && !after:
		if t.pending++; t.pending == 1 {
			t.settled = make(chan struct{})
		}
	case after && !before:
		if t.pending--; t.pending == 0 {
			close(t.settled)
		}
	}
}

func (t *tasks) wrote(key string, status TaskStatus) {
	t.update(key, func(s *taskState) { s.seen, s.round = status.Seen, status.Round })
}

// wait waits until all tasks are as they should be. The answer to a write may
// have been lost on its way through the proxy, so when nothing else happens for
// a while the API server is asked.
func (t *tasks) wait(ctx context.Context) error {
	for {
		t.mu.Lock()
		settled, pending := t.settled, t.pending
		t.mu.Unlock()
		if pending == 0 {
			return nil
		}
		select {
		case <-settled:
		case <-time.After(3 * time.Second):
			if t.left() == pending {
				t.ask(ctx)
			}
		case <-ctx.Done():
			return fmt.Errorf("%d tasks are not reconciled: %w", t.left(), ctx.Err())
		}
	}
}

// ask reads the tasks that are left from the API server.
func (t *tasks) ask(ctx context.Context) {
	t.mu.Lock()
	var left []string
	for key, s := range t.all {
		if !s.settled(t.round) {
			left = append(left, key)
		}
	}
	t.mu.Unlock()
	_ = inParallel(left, func(key string) error {
		var task Task
		text, err := t.exchange(ctx, http.MethodGet, pathOf(split(key)), "")
		if err == nil && json.Unmarshal(text, &task) == nil {
			t.wrote(key, task.Status)
		}
		return nil
	})
}

func (t *tasks) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pending
}

// define makes the custom resources, and waits until they are served.
func (t *tasks) define(ctx context.Context) error {
	for _, d := range definitions {
		if err := t.send(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); err != nil {
			return err
		}
	}
	for _, path := range []string{"/apis/trial.shardq.example/v1/tasks?limit=1", "/apis/coordination.k8s.io/v1/leases?limit=1"} {
		for t.send(ctx, http.MethodGet, path, "") != nil {
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// create makes all tasks.
func (t *tasks) create(ctx context.Context) error {
	return inParallel(t.keys, func(key string) error {
		namespace, name := split(key)
		return t.send(ctx, http.MethodPost, pathOf(namespace, ""), fmt.Sprintf(
			`{"apiVersion": %q, "kind": "Task", "metadata": {"name": %q}, "spec": {"value": 1, "changed": %d, "part": %q}}`,
			taskVersion, name, time.Now().UnixNano(), partInitial))
	})
}

// change gives a task another value.
func (t *tasks) change(ctx context.Context, key, part string) error {
	var value int64
	t.update(key, func(s *taskState) { s.value++; value = s.value })
	namespace, name := split(key)
	return t.send(ctx, http.MethodPatch, pathOf(namespace, name), fmt.Sprintf(
		`{"spec": {"value": %d, "changed": %d, "part": %q}}`, value, time.Now().UnixNano(), part))
}

// changeAll changes tasks in parallel.
func (t *tasks) changeAll(ctx context.Context, keys []string, part string) error {
	return inParallel(keys, func(key string) error { return t.change(ctx, key, part) })
}

func (t *tasks) send(ctx context.Context, method, path, body string) error {
	_, err := t.exchange(ctx, method, path, body)
	return err
}

// exchange sends a request to the API server itself.
func (t *tasks) exchange(ctx context.Context, method, path, body string) (text []byte, err error) {
	target := t.target.Load()
	r, err := http.NewRequestWithContext(ctx, method, target.address().String()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := target.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.200s", method, path, answer.Status, text)
	}
	return text, err
}

// inParallel calls f for each key, in a few goroutines.
func inParallel(keys []string, f func(key string) error) error {
	const goroutines = 32
	var next atomic.Int64
	errs := make([]error, goroutines)
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			for errs[i] == nil {
				n := int(next.Add(1)) - 1
				if n >= len(keys) {
					return
				}
				errs[i] = f(keys[n])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
