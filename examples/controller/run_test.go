package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	asDesired = `SELECT count(*) FROM desired d JOIN observed o
		ON d.tenant = o.tenant AND d.name = o.name AND d.spec = o.spec AND d.generation = o.generation`
	refusable = "SELECT count(*) FROM desired WHERE spec = 'replicas=99'"
	refused   = refusable + " AND (tenant, name, generation) IN (SELECT tenant, name, generation FROM discarded)"
)

func TestRunSettlesEveryObject(t *testing.T) {
	for _, flags := range [][]string{
		nil,
		{"-no-priorities"},
		{"-no-groups"},
		{"-no-groups", "-no-priorities"},
		{"-fail", "0"},
		{"-fail", "0.3", "-seed", "7"},
		{"-workers", "1"},
		{"-tenants", "0"},
		{"-flood", "0"},
		{"-duration", "0"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			path := newDatabase(t)
			result := runWhole(t, nil, append(append(small[:len(small):len(small)], flags...), "-db", path)...)
			require.Equal(t, exitProven, result.code, result.stderr)
			require.Equal(t, "every object is in its desired state, or was refused", result.row(t, "proof"))
			require.NotContains(t, result.stderr, "discarded after", "what a drain drops was settled before")
			database := reopen(t, path)
			objects := number(t, database, "SELECT count(*) FROM desired")
			require.NotZero(t, objects)
			require.Equal(t, objects, number(t, database, asDesired)+number(t, database, refusable))
			require.Equal(t, number(t, database, refusable), number(t, database, refused))
		})
	}
}

func TestRunRefusesWhatTheAPIRefuses(t *testing.T) {
	result := runWith(t, func(*controller) {}, append(small, "-seed", "2", "-fail", "0")...)
	require.Equal(t, exitProven, result.code, result.stderr)
	database := reopen(t, result.controller.config.database)
	n := number(t, database, refused)
	require.NotZero(t, n)
	require.Equal(t, fmt.Sprintf("120, %d of them refused", n), result.row(t, "objects"))
	changes := 0
	for _, tally := range result.controller.ledger.tallies {
		require.Zero(t, tally.retries, "a refusal is not tried again")
		changes += tally.changes
	}
	require.Equal(t, changes, number(t, database, "SELECT sum(generation - 1) FROM desired"))
}

func TestRunMeetsEachKindOfFailure(t *testing.T) {
	result := runWhole(t, nil, append(small, "-fail", "0.3")...)
	require.Equal(t, exitProven, result.code, result.stderr)
	for _, kind := range []string{"asked to retry later", "panics", "hung for 100ms", "deduplicated adds"} {
		require.NotEqual(t, "0", result.row(t, kind), kind)
	}
	require.Equal(t, "0", result.row(t, "two workers at once"))
	require.Regexp(t, `/object-\d+: attempt \d panicked: the API's client has a fault`, result.stderr)
	require.Regexp(t, `/object-\d+: attempt \d hangs for 100ms by now`, result.stderr)
}

func TestRunDiscardsWhatAlwaysFails(t *testing.T) {
	result := runWhole(t, nil, append(small, "-objects", "2", "-flood", "0", "-duration", "100ms", "-fail", "1")...)
	require.Equal(t, exitFailed, result.code)
	require.Equal(t, "NOT PROVEN", result.row(t, "proof"))
	require.Contains(t, result.stderr, "discarded after 8 attempts")
	require.Contains(t, result.stderr, "objects are not in their desired state")
}

// An API that is down may stay down: the drain is limited.
func TestRunEndsWithItsPatience(t *testing.T) {
	result := runWhole(t, nil, "-objects", "20", "-duration", "1s", "-patience", "2s", "-fail", "1")
	require.Equal(t, exitFailed, result.code)
	require.Regexp(t, `-patience 2s: ended before \d+ objects were settled`, result.stderr)
	require.Regexp(t, `\d+ of 280 objects are not in their desired state`, result.stderr)
	took, err := time.ParseDuration(result.row(t, "time"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, 3*time.Second)
	require.LessOrEqual(t, took, 4*time.Second+attemptTimeout)
}

// The end does not wait for resyncs that become ready faster than they can be
// processed.
func TestRunHasNoResyncsAfterTheChanges(t *testing.T) {
	const objects, times = 10, int(3 * resyncEvery / retryAfter)
	calls := 0
	result := runWith(t, func(c *controller) {
		observe := c.api.observe
		c.api.observe = func(key Key, now version) error {
			if key == objectOf(floodingTenant, 0) {
				if calls++; calls <= times {
					return throttled{retryAfter}
				}
			}
			return observe(key, now)
		}
	}, "-objects", "1", "-tenants", "0", "-flood", "0", "-fail", "0", "-duration", "0")
	require.Equal(t, exitProven, result.code, result.stderr)
	require.LessOrEqual(t, result.controller.ledger.tallies[floodingTenant].reconciles-times, 2*objects, "of the two lists")
}

func TestReportOmitsEmptyRows(t *testing.T) {
	result := runWhole(t, nil, append(small, "-flood", "0")...)
	require.Contains(t, result.stdout, "changes of others beside the initial list")
	require.NotContains(t, result.stdout, "beside the flood")
	require.NotContains(t, result.stdout, "tenant that floods")
}

// A change goes before the list: without priorities it waits for the list.
func TestRunPrefersChangesToTheList(t *testing.T) {
	median := func(flags ...string) time.Duration {
		result := runWith(t, func(*controller) {}, append(flags, "-objects", "50", "-workers", "4", "-fail", "0", "-flood", "0", "-duration", "1s")...)
		require.Equal(t, exitProven, result.code, result.stderr)
		delays := result.controller.ledger.delays[besideList].histogram
		require.Greater(t, delays.TotalCount(), int64(100))
		return time.Duration(delays.ValueAtPercentile(50)) * time.Microsecond
	}
	with, without := median("-no-groups"), median("-no-groups", "-no-priorities")
	require.Less(t, with, 2*latency)
	require.Greater(t, without, 25*latency)
}

// The changes of a tenant take as long during a flood as at other times:
// without groups they wait for the flood.
func TestRunKeepsTheFloodFromTheOthers(t *testing.T) {
	median := func(flags ...string) time.Duration {
		result := runWith(t, func(*controller) {}, append(flags, "-objects", "50", "-workers", "4", "-fail", "0", "-flood", "2000", "-duration", "4s")...)
		require.Equal(t, exitProven, result.code, result.stderr)
		delays := result.controller.ledger.delays[besideFlood].histogram
		require.Greater(t, delays.TotalCount(), int64(50))
		return time.Duration(delays.ValueAtPercentile(50)) * time.Microsecond
	}
	with, without := median(), median("-no-groups")
	require.Less(t, with, 3*latency)
	require.Greater(t, without, 25*latency)
}

// However many objects of a tenant are ready, some workers remain for the
// others.
func TestRunLimitsTheWorkersOfATenant(t *testing.T) {
	var mu sync.Mutex
	at, most := 0, 0
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		at += by
		most = max(most, at)
	}
	result := runWith(t, func(c *controller) {
		observe := c.api.observe
		c.api.observe = func(key Key, now version) error {
			if key.Tenant == floodingTenant {
				count(+1)
				defer count(-1)
				_ = wait(context.Background(), latency)
			}
			return observe(key, now)
		}
	}, append(small, "-fail", "0", "-workers", "8")...)
	require.Equal(t, exitProven, result.code, result.stderr)
	require.Equal(t, result.controller.config.tenantLimit(), most)
}

// Endless changes do not keep the list waiting. The test has no groups, because
// with them the list of each tenant has its turn anyway.
func TestRunLetsTheListGetOnBesideChanges(t *testing.T) {
	const duration = time.Second
	listed := 0
	result := runWith(t, func(c *controller) {
		start, observe := time.Now(), c.api.observe
		c.api.observe = func(key Key, now version) error {
			if key.Tenant == floodingTenant && time.Since(start) < duration {
				listed++
			}
			return observe(key, now)
		}
	}, "-objects", "30", "-tenants", "10", "-workers", "1", "-flood", "0", "-fail", "0", "-no-groups", "-duration", duration.String())
	require.Equal(t, exitProven, result.code, result.stderr)
	share := int(duration / latency / 16) // of the Gets
	require.Greater(t, listed, share/2)
	require.Less(t, listed, share*2, "without priorities it is nearly all of them")
}

// A call that is asked to retry later has not failed, however often.
func TestRunRetriesLaterWhenAsked(t *testing.T) {
	const times = 2 * maxAttempts
	victim, calls := Key{"flood", "object-7"}, []time.Time{}
	result := runWith(t, func(c *controller) {
		observe := c.api.observe
		c.api.observe = func(key Key, now version) error {
			if key != victim {
				return observe(key, now)
			}
			if calls = append(calls, time.Now()); len(calls) <= times {
				return throttled{retryAfter}
			}
			return observe(key, now)
		}
	}, "-objects", "1", "-tenants", "0", "-flood", "0", "-fail", "0")
	require.Equal(t, exitProven, result.code, result.stderr)
	require.Equal(t, strconv.Itoa(times), result.row(t, "asked to retry later"))
	for i, call := range calls[1:] {
		require.InDelta(t, retryAfter, call.Sub(calls[i]), float64(2*latency))
	}
}

func TestRunEndsEarlyWhenInterrupted(t *testing.T) {
	result := runWhole(t, func(interrupt func()) { time.AfterFunc(time.Second, interrupt) }, append(small, "-duration", "1h", "-fail", "0")...)
	require.Equal(t, exitProven, result.code, result.stderr)
	took, err := time.ParseDuration(result.row(t, "time"))
	require.NoError(t, err)
	require.Less(t, took, resyncEvery, "the drain does not wait for resyncs")
}

func TestRunInterruptedBeforeItBegins(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	path := newDatabase(t)
	var stdout, stderr strings.Builder
	require.Equal(t, exitProven, run([]string{"-objects", "1", "-fail", "0", "-db", path}, signals, &stdout, &stderr), stderr.String())
	database := reopen(t, path)
	require.Equal(t, 14, number(t, database, asDesired)+number(t, database, refused))
}

// A controller keeps nothing but the database: the list of the next run finds
// what a run leaves.
func TestRunGoesOnWithADatabase(t *testing.T) {
	path := newDatabase(t)
	first := runWhole(t, nil, append(small, "-objects", "2", "-flood", "0", "-duration", "0", "-fail", "1", "-db", path)...)
	require.Equal(t, exitFailed, first.code)
	require.NotZero(t, number(t, reopen(t, path), "SELECT count(*) FROM desired")-number(t, reopen(t, path), asDesired))
	second := runWhole(t, nil, "-objects", "2", "-tenants", "3", "-flood", "0", "-duration", "0", "-db", path)
	require.Equal(t, exitProven, second.code, second.stderr)
	require.Contains(t, second.row(t, "objects"), "26,", "one more tenant than in the first run")
}

func TestRunReportsAFailingDatabase(t *testing.T) {
	for _, change := range []string{
		"DROP TABLE observed",
		"DROP TABLE desired",
		"CREATE TRIGGER never BEFORE UPDATE ON desired BEGIN SELECT raise(FAIL, 'the disk is on fire'); END",
	} {
		t.Run(change, func(t *testing.T) {
			result := runWith(t, func(c *controller) {
				writes, observe := 0, c.api.observe
				c.api.observe = func(key Key, now version) error {
					if writes++; writes == 100 {
						_, err := c.state.database.Exec(change)
						assert.NoError(t, err)
					}
					return observe(key, now)
				}
			}, append(small, "-workers", "1")...)
			require.Equal(t, exitFailed, result.code)
			require.Equal(t, "NOT PROVEN", result.row(t, "proof"))
			require.Contains(t, result.stderr, "NOT PROVEN: ")
		})
	}
}

func TestRunRefusesBadFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(file, []byte("no database"), 0o600))
	foreign := map[string]string{}
	for _, table := range []string{"desired", "observed", "discarded"} {
		foreign[table] = newDatabase(t)
		_, err := reopen(t, foreign[table]).Exec(fmt.Sprintf("DROP TABLE %[1]s; CREATE TABLE %[1]s (something)", table))
		require.NoError(t, err)
	}
	for _, c := range []struct {
		flags, want []string
	}{
		{[]string{"-bogus"}, []string{"flag provided but not defined: -bogus"}},
		{[]string{"-workers", "many"}, []string{`invalid value "many" for flag -workers`}},
		{[]string{"now"}, []string{`unexpected argument "now": there are only flags`}},
		{
			[]string{"-duration", "-1s", "-tenants", "-1", "-objects", "0", "-workers", "0", "-flood", "-1", "-fail", "NaN", "-patience", "-1s"},
			[]string{"-duration -1s", "-tenants -1", "-objects 0", "-workers 0", "-flood -1", "-fail NaN", "-patience -1s"},
		},
		{[]string{"-db", "no/such/directory/x.db"}, []string{"-db no/such/directory/x.db: unable to open database file"}},
		{[]string{"-db", t.TempDir()}, []string{"unable to open database file"}},
		{[]string{"-db", file}, []string{"file is not a database"}},
		{[]string{"-db", foreign["desired"]}, []string{"has 1 columns"}},
		{[]string{"-db", foreign["observed"]}, []string{"no such column: o.tenant"}},
		{[]string{"-db", foreign["discarded"]}, []string{"no such column: g.reason"}},
	} {
		t.Run(strings.Join(c.flags, " "), func(t *testing.T) {
			result := runWhole(t, nil, c.flags...)
			require.Equal(t, exitUnusable, result.code)
			require.Empty(t, result.stdout)
			for _, want := range c.want {
				require.Contains(t, result.stderr, want)
			}
		})
	}
}

func TestRunPrintsItsUsage(t *testing.T) {
	result := runWhole(t, nil, "-h")
	require.Equal(t, exitProven, result.code)
	for _, word := range []string{"Usage", "-no-priorities", "-seed", "Exit codes"} {
		require.Contains(t, result.stderr, word)
	}
}
