package contract

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestC36ItemsAreDoneAfterTheirTurn(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch([]int{1, 2, 3}, shardq.AddOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := 0
		for range q.Items(ctx) {
			requireCounts(t, q, 2-seen, 0, 1)
			if seen++; seen == 3 {
				cancel()
			}
		}
		require.Equal(t, 3, seen)
		requireCounts(t, q, 0, 0, 0)
	})
}

// However a turn ends, its item is Done.
func TestC36ItemsAreDoneHoweverTheTurnEnds(t *testing.T) {
	ends := map[string]func(){
		"panic":  func() { panic("on purpose") },
		"Goexit": runtime.Goexit,
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue[int](2)
				q.Add(1)
				go func() {
					defer func() { _ = recover() }()
					for range q.Items(t.Context()) {
						end()
					}
				}()
				synctest.Wait()
				requireCounts(t, q, 0, 0, 0)
			})
		})
	}
	t.Run("break", func(t *testing.T) {
		q := newQueue[int](2)
		q.Add(1)
		q.Add(2)
		for range q.Items(t.Context()) {
			break
		}
		requireCounts(t, q, 1, 0, 0)
	})
}

func TestC36ItemsEndWithTheQueue(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		ended := returned(func() {
			for item := range q.Items(t.Context()) {
				require.Equal(t, 1, item)
			}
		})
		requireStillFalse(t, ended, "the queue is open")
		q.Add(1)
		requireStillFalse(t, ended, "the queue is open")
		q.ShutDown()
		requireBecomesTrue(t, ended)
	})
}

func TestC36AnIteratorMayBeUsedAgain(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{})
	items := q.Items(t.Context())
	for want := range 3 {
		q.Add(want)
		for item := range items {
			require.Equal(t, want, item)
			break
		}
	}
	q.ShutDown()
	for range items {
		t.Error("a queue that is shut down has items")
	}
}
