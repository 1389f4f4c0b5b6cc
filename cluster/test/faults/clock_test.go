package faults

import (
	"bytes"
	"context"
	"net"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

// A forger changes what comes from a server on a connection that it dials.
type forger func(received []byte)

func (f forger) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return &forged{c, f}, err
}

type forged struct {
	net.Conn
	forge forger
}

func (c *forged) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	c.forge(p[:n])
	return n, err
}

// inThePast makes the answers of a server come from the year 2020.
func inThePast(server string) forger {
	return func(rest []byte) {
		for {
			at := bytes.Index(rest, []byte(`"leader":"`+server+`"`))
			if at < 0 {
				return
			}
			rest = rest[at+1:]
			if at = bytes.Index(rest, []byte(`"ts":"20`)); at >= 0 {
				rest[at+len(`"ts":"202`)] = '0'
			}
		}
	}
}

// answers are those of JetStream, and what a partition says when it has stored a key.
var answers = regexp.MustCompile(`\{"(?:type":"io\.nats\.jetstream\.api\.v1\.|stream":"shardq-faults-)(\w+_response|\d)"`)

// losing loses the first answer of each kind.
func losing(lost *sync.Map) forger {
	return func(received []byte) {
		for _, at := range answers.FindAllSubmatchIndex(received, -1) {
			inbox := bytes.LastIndex(received[:at[0]], []byte("_INBOX."))
			if _, again := lost.LoadOrStore(string(received[at[2]:at[3]]), true); !again && inbox >= 0 {
				received[inbox+bytes.IndexByte(received[inbox:], ' ')-1] = '-' // nobody waits for it
			}
		}
	}
}

// TestAnswersAreLost checks that each costs an attempt, and not the whole time of
// a call.
func TestAnswersAreLost(t *testing.T) {
	o := alone(t)
	var lost sync.Map
	o.Partitions, o.NATS = 1, []nats.Option{nats.SetCustomDialer(losing(&lost))}
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	node, err := cluster.Join(ctx, o)
	require.NoError(t, err)
	defer node.Close()
	require.NoError(t, node.AddAll(ctx, "a", "b", "c"))
	require.EqualValues(t, 3, status(t, node).Pending)
	eventually(t, func() bool { return status(t, node).Silent == nil })
	run(t, node, map[string]bool{"a": true, "b": true, "c": true})
	for _, kind := range []string{"stream_info", "stream_create", "stream_msg_get", "consumer_info", "consumer_create", "consumer_reset"} {
		_, ok := lost.Load(kind + "_response")
		require.True(t, ok, kind)
	}
	_, ok := lost.Load("0")
	require.True(t, ok, "that of an add")
}

// TestTheAnswerOfAMoveIsLost checks that a delayed value comes once if the
// answer to its move from the delayed keys to its partition is lost.
func TestTheAnswerOfAMoveIsLost(t *testing.T) {
	o, lost := alone(t), sync.Map{}
	o.Values, o.Partitions, o.NATS = true, 1, []nats.Option{nats.SetCustomDialer(losing(&lost))}
	node := join(t, o)
	ran, stop := beginSeeing(t, node, cluster.Claim[string].Values)
	require.NoError(t, node.PutAfter(t.Context(), "a", []byte("1"), time.Millisecond))
	require.Len(t, receive(t, ran), 1)
	js := client(t, o.Servers)
	eventually(t, func() bool { return stream(t, js, "delayed").CachedInfo().State.Msgs == 0 }) // it is moved to the end
	eventually(t, func() bool { return status(t, node).Pending == 0 })
	stop()
	_, ok := lost.Load("0")
	require.True(t, ok, "that of the move")
	require.Empty(t, ran, "the value came twice")
}

// TestServersWhoseClocksDiffer checks that a node sees it, says so once, and
// shows which servers they are.
func TestServersWhoseClocksDiffer(t *testing.T) {
	t.Parallel()
	servers := clustertest.Start(t, 3)
	var log logbook
	o := small(servers.URLs())
	o.Partitions, o.Replicas, o.Logger = 12, 3, log.logger() // so many that more than one server leads some
	node := join(t, o)
	require.Less(t, status(t, node).Skew.By, o.Lease/8)
	require.Zero(t, log.count("clocks"))
	leader, ok := servers.Leader("shardq-faults-3")
	require.True(t, ok)
	wrong := []string{"server-0", "server-1", "server-2"}[leader]
	o.NATS = []nats.Option{nats.SetCustomDialer(inThePast(wrong))}
	node = join(t, o)
	eventually(t, func() bool { return status(t, node).Skew.Behind == wrong })
	require.NotEqual(t, wrong, status(t, node).Skew.Ahead)
	require.Greater(t, status(t, node).Skew.By.Hours(), 24.0*300)
	require.Equal(t, 1, log.count("level=WARN", "clocks", "behind="+wrong))
}
