package cluster

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestThePausesOfASlot checks that they grow to half a minute, with a jitter, and
// begin again after a time without failures; and that each change is logged once.
func TestThePausesOfASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newSlot(slog.New(slog.NewTextHandler(&log, nil)), "a partition")
		s.on(acquired, nil)
		least := firstPause / 2
		for range 20 {
			s.on(failed, errors.New("no"))
			require.GreaterOrEqual(t, s.wait(), least)
			require.LessOrEqual(t, s.wait(), 2*least)
			time.Sleep(s.wait()) // in the bubble
			least = min(2*least, longestPause/2)
		}
		require.Equal(t, longestPause/2, least)
		require.Equal(t, 1, strings.Count(log.String(), "\n"))
		require.Equal(t, PartitionState{State: Failing, Error: "no", Since: s.since}, s.read())
		s.on(opened, nil)
		require.Equal(t, PartitionState{State: Open, Since: s.since}, s.read())
		require.Equal(t, 2, strings.Count(log.String(), "\n"))

		s.on(broke, nil)
		require.GreaterOrEqual(t, s.wait(), longestPause/2, "it may break again and again")
		s.on(opened, nil)
		time.Sleep(4 * longestPause)
		s.on(broke, nil)
		require.LessOrEqual(t, s.wait(), time.Duration(0), "at once, for the first time")
		s.on(failed, errors.New("no"))
		require.LessOrEqual(t, s.wait(), 2*firstPause)
	})
}

func TestAnEventThatComesTooLate(t *testing.T) {
	s := newSlot(slog.New(slog.DiscardHandler), "a partition")
	for _, e := range []event{opened, broke, left, gone} {
		s.on(e, nil)
		require.Equal(t, Idle, s.read().State)
	}
	s.on(acquired, nil)
	s.on(left, nil)
	for _, e := range []event{opened, broke, failed, acquired} {
		s.on(e, nil)
		require.Equal(t, Leaving, s.read().State)
	}
}
