package debugpage

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestOnlyLocalClients(t *testing.T) {
	h := Handler(newQueue("confidential"))
	for _, c := range []struct {
		remote, host string
		local        bool
	}{
		{"127.0.0.1:1234", "localhost:6060", true},
		{"127.0.0.1:1234", "localhost", true},
		{"127.0.0.1:1234", "LOCALHOST:6060", true},
		{"127.0.0.1:1234", "localhost.:6060", true},
		{"127.0.0.1:1234", "localhost..", false},
		{"127.8.9.1:1234", "127.0.0.1:6060", true},
		{"[::1]:1234", "[::1]:6060", true},
		{"[::1]:1234", "[::1]", true},
		{"[::ffff:127.0.0.1]:1234", "127.0.0.1", true},
		{"192.0.2.1:1234", "localhost:6060", false},
		{"10.0.0.1:1234", "127.0.0.1:6060", false},
		{"[2001:db8::1]:1234", "localhost", false},
		{"[::ffff:192.0.2.1]:1234", "localhost", false},
		{"@", "localhost", false},
		{"", "localhost", false},
		{"127.0.0.1:1234", "attacker.example:6060", false},
		{"127.0.0.1:1234", "localhost.attacker.example", false},
		{"127.0.0.1:1234", "127.0.0.1.attacker.example", false},
		{"127.0.0.1:1234", "192.0.2.7:6060", false},
		{"127.0.0.1:1234", "", false},
	} {
		r := request("GET", "")
		r.RemoteAddr, r.Host = c.remote, c.host
		w := ask(h, r)
		require.Equal(t, c.local, w.Code == http.StatusOK, "%+v", c)
		if !c.local {
			require.Equal(t, http.StatusForbidden, w.Code)
			require.Contains(t, w.Body.String(), "debugpage.Options.Allow")
			require.NotContains(t, w.Body.String(), "confidential")
		}
	}
}

func TestProxiesAreNotLocal(t *testing.T) {
	h := Handler()
	for _, name := range []string{
		"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything",
		"X-Envoy-External-Address", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP",
	} {
		r := request("GET", "")
		r.Header.Set(name, "127.0.0.1")
		require.Equal(t, http.StatusForbidden, ask(h, r).Code, name)
	}
}

// TestOtherSitesAreNotLocal sends requests as a browser does for the page of
// another site.
func TestOtherSitesAreNotLocal(t *testing.T) {
	for site, code := range map[string]int{
		"cross-site": http.StatusForbidden, "same-origin": http.StatusOK, "same-site": http.StatusOK, "none": http.StatusOK,
	} {
		r := request("GET", "")
		r.Header.Set("Sec-Fetch-Site", site)
		require.Equal(t, code, ask(Handler(), r).Code, site)
	}
}

// TestAllow checks that Allow replaces the default, and runs before any
// reading.
func TestAllow(t *testing.T) {
	read := 0
	h := must(t, Options{
		List:  func() []shardq.Inspector { read++; return nil },
		Allow: func(r *http.Request) bool { return r.Header.Get("Authorization") == "yes" },
	})
	require.Equal(t, http.StatusForbidden, ask(h, request("GET", "")).Code)
	require.Zero(t, read)
	r := request("GET", "")
	r.RemoteAddr, r.Host = "192.0.2.1:1", "queues.example"
	r.Header.Set("Authorization", "yes")
	require.Equal(t, http.StatusOK, ask(h, r).Code)
	require.Equal(t, 1, read)

	panics := must(t, Options{Allow: func(*http.Request) bool { panic("no") }})
	require.Panics(t, func() { ask(panics, request("GET", "")) }, "the server ends the request")
}
