package cluster

import (
	"log/slog"
	"sync"
	"time"
)

// A quiet logger warns of the same thing once in a while, however often it comes:
// for each key, or each attempt to connect.
type quiet struct {
	logger *slog.Logger

	mu sync.Mutex
	at map[string]time.Time // of the last warning, by what it was of
}

func newQuiet(logger *slog.Logger) *quiet { return &quiet{logger: logger, at: map[string]time.Time{}} }

func (q *quiet) warn(of, message string, err error) {
	if q.isDue(of) {
		q.logger.Warn(message, "error", err)
	}
}

func (q *quiet) isDue(of string) bool {
	const most = 100
	q.mu.Lock()
	defer q.mu.Unlock()
	last, known := q.at[of]
	if known && time.Since(last) < longestPause {
		return false
	}
	if len(q.at) >= most {
		clear(q.at)
	}
	q.at[of] = time.Now()
	return true
}
