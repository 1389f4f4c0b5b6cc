package monitor

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

var paths = []string{"/", "/metrics", "/debug/vars", "/debug/pprof/"}

func TestOnlyLocalClients(t *testing.T) {
	h, err := handler("queues", []shardq.Inspector{shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true})})
	require.NoError(t, err)
	for _, path := range paths {
		for remote, code := range map[string]int{"127.0.0.1:40000": http.StatusOK, "192.0.2.1:40000": http.StatusForbidden} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.RemoteAddr, r.Host = remote, "localhost:6060"
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, code, w.Code, "%s for %s", path, remote)
		}
	}
}

// TestURLCanBeOpened also covers a server that listens on all addresses.
func TestURLCanBeOpened(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", ":0"} {
		m, err := Start(address, "queues", shardq.MustNew(shardq.Options[string]{Name: "q", Metrics: true}))
		require.NoError(t, err)
		answer, err := http.Get(m.URL())
		require.NoError(t, err, address)
		_, _ = io.Copy(io.Discard, answer.Body)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, address)
		m.Close()
	}
}

func TestReachable(t *testing.T) {
	for listened, want := range map[string]string{
		"[::]:6060": "[::1]:6060", "0.0.0.0:6060": "127.0.0.1:6060", "127.0.0.1:6060": "127.0.0.1:6060", "192.0.2.1:6060": "192.0.2.1:6060",
	} {
		address, err := net.ResolveTCPAddr("tcp", listened)
		require.NoError(t, err)
		require.Equal(t, want, reachable(address).String())
	}
}
