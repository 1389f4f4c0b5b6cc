package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type tasks struct {
	server *server
	round  int64
	keys   []string // the tasks of the flooding namespace first
	flood  int      // how many those are

	mu     sync.Mutex
	values map[string]int64
}

const namespaces = 20

func newTasks(n int, s *server) *tasks {
	t := &tasks{server: s, flood: n / 5, values: map[string]int64{}}
	for i := range n {
		key := fmt.Sprintf("tenant-%d/task-%d", i%namespaces, i)
		if i < t.flood {
			key = fmt.Sprintf("flood/task-%d", i)
		}
		t.keys = append(t.keys, key)
	}
	return t
}

const allTasks = "/apis/trial.shardq.example/v1/tasks"

func (t *tasks) define(ctx context.Context) error {
	for _, d := range definitions {
		if _, err := t.send(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); err != nil {
			return err
		}
	}
	for {
		_, err := t.send(ctx, http.MethodGet, allTasks, "")
		_, err2 := t.send(ctx, http.MethodGet, "/apis/coordination.k8s.io/v1/leases", "")
		if err == nil && err2 == nil {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (t *tasks) create(ctx context.Context) error {
	return inParallel(t.keys, func(key string) error {
		namespace, name, _ := strings.Cut(key, "/")
		t.next(key)
		_, err := t.send(ctx, http.MethodPost, pathOf(namespace, ""), fmt.Sprintf(
			`{"apiVersion": %q, "kind": "Task", "metadata": {"name": %q}, "spec": {"value": 1}}`, taskVersion, name))
		return err
	})
}

func (t *tasks) change(ctx context.Context, keys ...string) error {
	return inParallel(keys, func(key string) error {
		namespace, name, _ := strings.Cut(key, "/")
		_, err := t.send(ctx, http.MethodPatch, pathOf(namespace, name), fmt.Sprintf(`{"spec": {"value": %d}}`, t.next(key)))
		return err
	})
}

func (t *tasks) next(key string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values[key]++
	return t.values[key]
}

// left counts tasks whose last value was not reconciled in this round.
func (t *tasks) left(found []task) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := len(t.keys)
	for _, task := range found {
		if task.Status == (taskStatus{t.values[task.Metadata.Namespace+"/"+task.Metadata.Name], t.round}) {
			left--
		}
	}
	return left
}

func (t *tasks) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	for {
		var list struct{ Items []task }
		text, err := t.send(ctx, http.MethodGet, allTasks, "")
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		left := t.left(list.Items)
		if left == 0 {
			return nil
		}
		if ended := pause(ctx, 100*time.Millisecond); ended != nil {
			return errors.Join(fmt.Errorf("%d tasks are not reconciled", left), err, ended)
		}
	}
}

func (t *tasks) send(ctx context.Context, method, path, body string) (text []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, t.server.address().String()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := t.server.client.Do(r)
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

func inParallel(keys []string, f func(key string) error) error {
	var next atomic.Int64
	errs := make([]error, 32)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			for n := next.Add(1); errs[i] == nil && int(n) <= len(keys); n = next.Add(1) {
				errs[i] = f(keys[n-1])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func pathOf(namespace, name string) string {
	return strings.TrimSuffix("/apis/trial.shardq.example/v1/namespaces/"+namespace+"/tasks/"+name, "/")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
