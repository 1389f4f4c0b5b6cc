package names_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster/internal/names"
)

func FuzzKeys(f *testing.F) {
	for _, key := range []string{"a", "a.b", "*", ">", "\x00", "ключ", strings.Repeat("x", names.MaxKey)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		token, err := names.Token([]byte(key))
		if key == "" || len(key) > names.MaxKey {
			require.ErrorIs(t, err, names.ErrKey)
			return
		}
		require.NoError(t, err)
		require.NotContains(t, token, ".")
		partition := names.Partition([]byte(key), 16)
		subject := names.Queue("q").Key(names.Work, partition, token)
		require.False(t, strings.ContainsAny(subject, "*> \t\r\n"))
		p, again, back, err := names.Parse(subject)
		require.NoError(t, err)
		require.Equal(t, partition, p)
		require.Equal(t, token, again)
		require.Equal(t, key, string(back))
		for _, id := range []string{"", "7"} {
			of := subject
			if id != "" {
				of = names.Queue("q").Key(names.Work, partition, names.WithID(token, id))
			}
			without, got := names.SplitID(of)
			require.Equal(t, subject, without)
			require.Equal(t, id, got)
		}
	})
}

func TestSubjectsOfOthers(t *testing.T) {
	for _, subject := range []string{"", "a", "shardq.q.work.x.YQ", "shardq.q.work.1.!", "shardq.q.work.1.YQ.z"} {
		_, _, _, err := names.Parse(subject)
		require.ErrorIs(t, err, names.ErrKey, subject)
	}
	q := names.Queue("q")
	id, ok := q.MemberOf(q.Member("a"))
	require.True(t, ok)
	require.Equal(t, "a", id)
	for _, bad := range []names.Queue{"", "a.b", "a b", "*", names.Queue(strings.Repeat("a", 65))} {
		require.Error(t, bad.Validate(), bad)
	}
	require.NoError(t, names.Queue("aZ_0-9").Validate())
}
