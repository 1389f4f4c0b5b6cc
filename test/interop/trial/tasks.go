//go:build trial

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
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
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := t.send(ctx, http.MethodGet, allTasks, "")
		_, err2 := t.send(ctx, http.MethodGet, "/apis/coordination.k8s.io/v1/leases", "")
		return err == nil && err2 == nil, nil
	})
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
	var left int
	var failed error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 15*time.Minute, true, func(ctx context.Context) (bool, error) {
		var list struct{ Items []task }
		var text []byte
		if text, failed = t.send(ctx, http.MethodGet, allTasks, ""); failed == nil {
			failed = json.Unmarshal(text, &list)
		}
		left = t.left(list.Items)
		return left == 0, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%d tasks are not reconciled", left), failed, err)
	}
	return nil
}

func (t *tasks) send(ctx context.Context, method, path, body string) ([]byte, error) {
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
	}
	return t.server.client.Verb(method).AbsPath(path).SetHeader("Content-Type", kind).Body([]byte(body)).DoRaw(ctx)
}

func inParallel(keys []string, f func(key string) error) error {
	var group errgroup.Group
	group.SetLimit(32)
	for _, key := range keys {
		group.Go(func() error { return f(key) })
	}
	return group.Wait()
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
