package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/worker"
)

// admin runs the command, which must succeed, and returns what it prints.
func admin(t *testing.T, arguments ...string) string {
	var out strings.Builder
	require.NoError(t, run(t.Context(), arguments, &out), arguments)
	return out.String()
}

func TestDeadLetters(t *testing.T) {
	servers := clustertest.Start(t, 1)
	node, err := cluster.Join(t.Context(), cluster.Options[string]{
		Name: "q", Servers: servers.URLs(), Partitions: 3, Lease: 2 * time.Second,
	})
	require.NoError(t, err)
	defer node.Close()
	require.NoError(t, node.AddAll(t.Context(), "a", "b", "c"))
	ctx, cancel := context.WithCancel(t.Context())
	discarded := make(chan struct{}, 3)
	ended := make(chan error, 1)
	go func() {
		ended <- node.RunWith(ctx, cluster.RunOptions[string]{
			Workers: 1, MaxAttempts: 1,
			Handle:    func(context.Context, cluster.Claim[string]) error { return errors.New("no luck") },
			OnDiscard: func(context.Context, worker.Failure[string]) { discarded <- struct{}{} },
		})
	}()
	for range 3 {
		<-discarded
	}
	cancel()
	require.NoError(t, <-ended)

	queue := []string{"-servers", servers.URLs(), "-name", "q"}
	got := admin(t, append(queue, "dead")...)
	require.Equal(t, 4, strings.Count(got, "\n"))
	require.Contains(t, got, `"no luck"`)

	require.Equal(t, "revive \"b\"\n", admin(t, append(queue, "revive", "b")...))
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Pending)
	require.EqualValues(t, 2, s.Dead)
	require.ErrorContains(t, run(t.Context(), append(queue, "revive", "b"), io.Discard), `no dead letter has the key ["b"]`)

	// A message that is no letter hides none of the letters.
	conn, err := nats.Connect(servers.URLs())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "shardq.q.dead.0.YQ", []byte("no letter"))
	require.NoError(t, err)
	got = admin(t, append(queue, "dead")...)
	require.Contains(t, got, `"c"`)
	require.Contains(t, got, "cannot be read: shardq.q.dead.0.YQ")
	got = admin(t, append(queue, "revive", "all")...)
	require.Contains(t, got, "revive \"c\"\n")
	require.Contains(t, got, "left: cluster: a dead letter cannot be read")

	admin(t, append(queue, "forget", "all")...)
	require.Equal(t, 1, strings.Count(admin(t, append(queue, "dead")...), "\n"))
}

func TestKeysAndSettings(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := cluster.Options[string]{Name: "q", Servers: servers.URLs(), Partitions: 2}
	node, err := cluster.Join(t.Context(), o)
	require.NoError(t, err)
	defer node.Close()
	require.NoError(t, node.AddAll(t.Context(), "a", "b"))
	require.NoError(t, node.AddAfter(t.Context(), "late", time.Hour))
	for _, each := range []struct {
		arguments string
		want      []string
	}{
		{"keys", []string{`"a"`, `"b"`, `"late"`, "pending"}},
		{"keys late", []string{`"late"`}},
		{"cancel a late", []string{`canceled "a"`, `canceled "late"`}},
		{"cancel a", []string{`was not there: "a"`}},
		{"rate 50", []string{`{"Rate":{"PerSecond":50`}},
		{"pause", []string{`"Paused":true,"Rate":{"PerSecond":50`}},
		{"pause tenant other", []string{`"Groups":{"other":{"Paused":true`, `"tenant":{"Paused":true`}},
		{"resume tenant other", []string{"}}\n"}},
		{"status", []string{`"Pending": 1`, `"Delayed": 0`, `"Paused": true`}},
		{"-max-pending 7 -max-dead 8 update", []string{"updated"}},
	} {
		got := admin(t, append([]string{"-servers", servers.URLs(), "-name", "q"}, strings.Fields(each.arguments)...)...)
		for _, want := range each.want {
			require.Contains(t, got, want, each.arguments)
		}
	}
	o.MaxPending, o.MaxDead = 7, 8
	same, err := cluster.Join(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, same.Close())
}

func TestCommandsWithFaults(t *testing.T) {
	for _, arguments := range [][]string{{}, {"-name", "q"}, {"-name", "q", "-dir", "x", "bury"}, {"-name", "q", "-dir", "x", "revive"}, {"-name", "q", "-dir", "x", "status", "a"}, {"-name", "q", "-dir", "x", "update"}} {
		require.ErrorContains(t, run(t.Context(), arguments, io.Discard), "want")
	}
	for want, arguments := range map[string][]string{
		"no such file":                   {"-servers", "tls://127.0.0.1:1", "-tlsca", "no such file"},
		`the queue "q": nats: API error`: {"-servers", clustertest.Start(t, 1).URLs()},
	} {
		require.ErrorContains(t, run(t.Context(), append(arguments, "-name", "q", "status"), io.Discard), want)
	}
}
