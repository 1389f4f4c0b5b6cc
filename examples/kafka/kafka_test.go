package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/coalesce"
)

var small = options{topic: "events", group: "test", records: 6000, session: 4 * time.Second, bound: time.Second, timeout: 10 * time.Minute}

func init() { // the test binary acts as a member
	if len(os.Args) > 1 && os.Args[1] == "-child" {
		main()
		os.Exit(0)
	}
}

func TestDemonstration(t *testing.T) {
	require.NoError(t, run(t.Context(), small))
	hasty := small
	hasty.timeout = time.Millisecond
	require.EqualError(t, run(t.Context(), hasty), "it did not end within -timeout 1ms")
}

// TestRevocationIsBounded: a key that cannot be written does not keep its partition.
func TestRevocationIsBounded(t *testing.T) {
	d := newDemo(t.Context(), small, t.TempDir())
	s, err := openSink(d.database)
	require.NoError(t, err)
	_, err = s.db.Exec(`CREATE TRIGGER stuck BEFORE INSERT ON totals WHEN new.key IN ('user-0', 'user-1', 'user-2') BEGIN SELECT abs(-9223372036854775808); END`)
	require.NoError(t, err)
	leaveA, _ := d.start("A", 1)
	d.produce(d.records)
	leaveB, _ := d.start("B", 2)
	_, err = s.db.Exec(`DROP TRIGGER stuck`)
	require.NoError(t, err)
	d.awaitCommits(d.sent)
	leaveA()
	leaveB()
	require.NoError(t, d.prove())
}

// TestFencedMember: it writes nothing, and has no partition that it claims too late.
func TestFencedMember(t *testing.T) {
	s, err := openSink(t.TempDir() + "/counts.db")
	require.NoError(t, err)
	source, err := coalesce.MustNew(coalesce.Options[key, int64]{Merge: func(a, b int64) int64 { return a + b }}).NewSource("events/0", 7)
	require.NoError(t, err)
	early, late := &partition{name: "events/0", source: source}, &partition{name: "events/0"}
	early.generation.Store(1)
	late.generation.Store(2)
	require.NoError(t, s.claim(early))
	require.NoError(t, s.claim(late))
	fenced, err := s.write(t.Context(), []*partition{early}, nil, nil)
	require.ErrorIs(t, err, errFenced)
	require.Same(t, early, fenced)
	require.ErrorIs(t, s.claim(early), errFenced)
}
