package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The proof finds an API that acknowledges writes without making them.
func TestProofFindsAnAPIThatLies(t *testing.T) {
	victim := Key{"tenant-1", "object-7"}
	for name, lie := range map[string]func(c *controller, now version) error{
		"does nothing": func(*controller, version) error { return nil },
		"does something else": func(c *controller, now version) error {
			return c.state.observe(victim, version{"replicas=0", now.generation + 1})
		},
		"does it to another": func(c *controller, now version) error { return c.state.observe(Key{"nobody", "x"}, now) },
		"does the former": func(c *controller, now version) error {
			return c.state.observe(victim, version{now.spec, now.generation - 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := runWith(t, func(c *controller) {
				observe := c.api.observe
				c.api.observe = func(key Key, now version) error {
					if key == victim {
						return lie(c, now)
					}
					return observe(key, now)
				}
			}, append(small, "-fail", "0")...)
			require.Equal(t, exitFailed, result.code)
			require.Equal(t, "NOT PROVEN", result.row(t, "proof"))
			require.Regexp(t, "of 12[01] objects are not in their desired state, such as: (tenant-1/object-7|nobody/x) is", result.stderr)
		})
	}
}

// A resync finds a write that was acknowledged and lost, long before the last
// list.
func TestResyncFindsALostWrite(t *testing.T) {
	var repaired atomic.Int64
	victim := Key{"flood", "object-7"}
	result := runWith(t, func(c *controller) {
		start, writes, observe := time.Now(), 0, c.api.observe
		c.api.observe = func(key Key, now version) error {
			if key == victim {
				if writes++; writes == 1 {
					return nil
				}
				repaired.Store(int64(time.Since(start)))
			}
			return observe(key, now)
		}
	}, "-objects", "1", "-tenants", "1", "-fail", "0", "-duration", "5s", "-flood", "0")
	require.Equal(t, exitProven, result.code, result.stderr)
	require.Equal(t, "1", result.row(t, "lost and found"))
	require.InDelta(t, resyncEvery, repaired.Load(), float64(time.Second))
}

func TestProofReadsTheDatabaseItself(t *testing.T) {
	path := newDatabase(t)
	require.Equal(t, exitProven, runWhole(t, nil, append(small, "-seed", "2", "-db", path)...).code)
	for change, want := range map[string]string{
		"UPDATE observed SET spec = 'x' WHERE tenant = 'tenant-1' AND name = 'object-1'":                 "1 of 120 objects are not in their desired state, such as: tenant-1/object-1 is x,",
		"UPDATE desired SET generation = generation + 1 WHERE tenant = 'tenant-1' AND name = 'object-1'": "1 of 120 objects",
		"DELETE FROM observed WHERE tenant = 'flood' AND name = 'object-1'":                              "1 of 120 objects",
		"INSERT INTO observed VALUES ('nobody', 'x', '', 1)":                                             "1 of 121 objects",
		"UPDATE discarded SET generation = generation - 1":                                               "of 120 objects",
		"DELETE FROM desired; DELETE FROM observed":                                                      "120 objects were listed, and the database has 0",
		"INSERT INTO discarded VALUES ('nobody', 'x', 1, '')":                                            "",
		"UPDATE discarded SET reason = 'another'":                                                        "",
	} {
		t.Run(change, func(t *testing.T) {
			changed := newDatabase(t)
			database := reopen(t, path)
			_, err := database.Exec("VACUUM INTO ?", changed)
			require.NoError(t, err)
			_, err = reopen(t, changed).Exec(change)
			require.NoError(t, err)
			p, err := prove(changed)
			require.NoError(t, err)
			if want == "" {
				require.NoError(t, p.verdict(120))
			} else {
				require.ErrorContains(t, p.verdict(120), want)
			}
		})
	}
}

func TestProofFindsTwoWorkersAtOnce(t *testing.T) {
	result := runWith(t, func(c *controller) {
		c.api.fail = 0
		key := Key{floodingTenant, "object-0"}
		var both sync.WaitGroup
		both.Go(func() { _ = c.reconciler.reconcile(context.Background(), key) })
		both.Go(func() { _ = c.reconciler.reconcile(context.Background(), key) })
		both.Wait()
	}, small...)
	require.Equal(t, exitFailed, result.code)
	require.Contains(t, result.stderr, "1 turns began while another worker had the object")
}
