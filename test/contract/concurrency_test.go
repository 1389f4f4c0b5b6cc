package contract

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/testscale"
)

// RefreshGroup overtakes an add that has asked GroupPolicy before and adds its
// item after it, also if the group had no item then: its items wait. A GroupPolicy
// that refreshes another group ends nevertheless.
func TestC70RefreshOvertakesAnAdd(t *testing.T) {
	adds := map[string]func(q *shardq.Queue[string]){
		"Add":      func(q *shardq.Queue[string]) { q.Add("a/2") },
		"AddAfter": func(q *shardq.Queue[string]) { q.AddAfter("a/2", time.Hour) },
		"AddBatch": func(q *shardq.Queue[string]) { q.AddBatch([]string{"a/2"}, shardq.AddOptions{}) },
		"TryAdd":   func(q *shardq.Queue[string]) { _ = q.TryAdd("a/2", shardq.AddOptions{}) },
		"AddContext": func(q *shardq.Queue[string]) {
			_ = q.AddContext(context.Background(), "a/2", shardq.AddOptions{After: time.Hour})
		},
		"RefreshGroup": func(q *shardq.Queue[string]) { q.RefreshGroup("a") },
	}
	for name, add := range adds {
		for _, isNew := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				limit, holds, goOn := 1, 0, make(chan struct{})
				var q *shardq.Queue[string]
				q = shardq.MustNew(shardq.Options[string]{Shards: 1, Group: tenant, GroupPolicy: func(group string) shardq.GroupPolicy {
					asked := limit
					if holds > 0 && group == "a" {
						holds--
						q.RefreshGroup("b")
						<-goOn
					}
					return shardq.GroupPolicy{Limit: asked}
				}})
				if !isNew {
					q.Add("a/1")
				}
				holds = 2 // the add asks, and asks again
				go add(q)
				synctest.Wait()
				limit = 2
				holds--
				q.RefreshGroup("a")
				holds++
				goOn <- struct{}{}
				synctest.Wait()
				if name == "Add" && isNew {
					require.Equal(t, 1, q.Stats().Throttled)
				}
				close(goOn)
				synctest.Wait()
				for group := range q.Groups() {
					require.Equal(t, 2, group.Limit, "%s of a new group: %t", name, isNew)
				}
				require.Zero(t, q.Stats().Throttled)
			})
		}
	}
}

// An item is added before the Done of the one before: there is no moment at which
// nothing is held.
func TestC59HopsBesideWaitIdle(t *testing.T) {
	q := newQueue[int](2)
	q.Add(0)
	q.Get()
	ctx, cancel := context.WithCancel(t.Context())
	idle := returned(func() { together(2, func(int) { require.Error(t, q.WaitIdle(ctx)) }) })
	for item := range testscale.N(4_000_000) {
		q.Add(item + 1)
		q.Done(item)
		q.Get()
	}
	cancel()
	for !idle() {
		runtime.Gosched()
	}
}
