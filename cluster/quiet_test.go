package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAWarningThatComesAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		q := newQuiet(slog.New(slog.NewTextHandler(&log, nil)))
		warnAll := func() {
			for range 10 {
				q.warn("a", "of a", errors.New("no"))
				q.warn("b", "of b", errors.New("no"))
			}
		}
		count := func() int { return strings.Count(log.String(), "\n") }
		warnAll()
		require.Equal(t, 2, count())
		time.Sleep(longestPause) // in the bubble
		warnAll()
		require.Equal(t, 4, count())
		for i := range 1000 {
			q.warn(fmt.Sprint(i), "another", nil)
		}
		require.LessOrEqual(t, len(q.at), 100)
	})
}
