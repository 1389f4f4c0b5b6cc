//go:build unix

package faults

import (
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// A link is a connection to a server that a test can spoil.
type link struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

// newLink returns a link to a server of the cell.
func (c *cell) newLink() *link { return newLink(c.t, c.servers.URL(0)) }

func newLink(t *testing.T, server string) *link {
	quiet := zerolog.Nop()
	proxies := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), quiet)
	l := &link{t, toxiproxy.NewProxy(proxies, "link", "127.0.0.1:0", strings.TrimPrefix(server, "nats://"))}
	require.NoError(t, l.proxy.Start())
	t.Cleanup(l.proxy.Stop)
	return l
}

func (l *link) url() string { return "nats://" + l.proxy.Listen }

// spoil has a toxic in both directions, or in the named ones, until heal.
func (l *link) spoil(kind, attributes string, streams ...string) {
	if streams == nil {
		streams = []string{"upstream", "downstream"}
	}
	for _, stream := range streams {
		_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(
			`{"name": "` + stream + `", "type": "` + kind + `", "stream": "` + stream + `", "attributes": ` + attributes + `}`))
		require.NoError(l.t, err)
	}
}

func (l *link) heal() {
	l.proxy.Toxics.ResetToxics(l.t.Context())
}

// TestAWorkerIsCutOff checks that a handler's context ends when its node cannot
// renew the lease, that another node takes over, and that the write of the
// first is refused.
func TestAWorkerIsCutOff(t *testing.T) {
	c := newCell(t, 1, shortLease)
	l := c.newLink()
	c.spawnBehind(l.url())
	victim, h, wait := c.addAndHold(Writes)
	l.spoil("timeout", `{"timeout": 0}`) // nothing passes, and no connection is closed
	c.spawn(c.setting)
	canceled := receive(t, c.sink.Canceled)
	require.Equal(t, victim.Process, canceled.Process)
	wait()
	c.waitForAnother(victim)
	h.Release()
	eventually(t, func() bool { return c.sink.Refused.Load() > 0 })
	l.heal()
	c.check()
}
