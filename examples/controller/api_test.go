package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// answers returns the results of calls for an object with a seed.
func answers(t *testing.T, seed uint64, key Key) (all []string) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{observe: func(Key, version) error { return nil }, fail: 0.5, seed: seed, calls: map[Key]uint64{}}
		for range 100 {
			all = append(all, answer(t, a, key))
		}
	})
	return all
}

func answer(t *testing.T, a *api, key Key) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	start := time.Now()
	ctx, release := context.WithTimeout(t.Context(), attemptTimeout)
	defer release()
	err := a.apply(ctx, key, version{"replicas=1", 1})
	return fmt.Sprint(err, time.Since(start))
}

func TestAPIIsDecidedByTheSeed(t *testing.T) {
	require.Equal(t, answers(t, 1, one), answers(t, 1, one))
	require.NotEqual(t, answers(t, 1, one), answers(t, 2, one))
	require.NotEqual(t, answers(t, 1, one), answers(t, 1, two))
}

func TestAPIRefusesBadSpecsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{calls: map[Key]uint64{}}
		for _, spec := range []string{"replicas=99", "replicas=", "x", ""} {
			var refused *refusal
			require.ErrorAs(t, a.apply(t.Context(), one, version{spec, 7}), &refused)
			require.EqualValues(t, 7, refused.generation)
		}
	})
}

// The API loses writes until the test sets honest, as the program does for the
// last list.
func TestAPILosesWritesUntilItIsHonest(t *testing.T) {
	lost := func(honest bool) (n int) {
		observed := 0
		a := &api{observe: func(Key, version) error { observed++; return nil }, fail: 1, calls: map[Key]uint64{}}
		a.honest.Store(honest)
		synctest.Test(t, func(t *testing.T) {
			for range 500 {
				if strings.HasPrefix(answer(t, a, one), "<nil>") {
					n++
				}
			}
		})
		return n - observed
	}
	require.NotZero(t, lost(false))
	require.Zero(t, lost(true))
	require.True(t, runWith(t, func(*controller) {}, "-objects", "1", "-duration", "0").controller.api.honest.Load())
}
