package debugpage

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestOnlyGetAndHead(t *testing.T) {
	h := Handler(newQueue("q"))
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"} {
		w := ask(h, request(method, ""))
		require.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
	for _, format := range []string{asHTML, asJSON, asText} {
		got, head := ask(h, request("GET", "?format="+format)), ask(h, request("HEAD", "?format="+format))
		require.Equal(t, http.StatusOK, head.Code)
		require.Empty(t, head.Body.String())
		require.Equal(t, got.Header().Get("Content-Type"), head.Header().Get("Content-Type"))
		require.NotEmpty(t, head.Header().Get("Content-Length"))
	}
}

// TestHeaders checks the headers of each kind of answer, and that the hashes of
// the policy are those of the style and the script in the page.
func TestHeaders(t *testing.T) {
	h := Handler(newQueue(""))
	refused := request("GET", "")
	refused.RemoteAddr = "192.0.2.1:1"
	for _, r := range []*http.Request{request("GET", ""), request("GET", "?format=json"), request("GET", "?x=y"), request("POST", ""), refused} {
		header := ask(h, r).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			require.Equal(t, want, header.Get(name))
		}
		policy := header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'; script-src 'sha256-")
		require.Contains(t, policy, "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		require.NotContains(t, policy, "unsafe")
	}
	body := get(t, h, "")
	for _, element := range []string{"style", "script"} {
		found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(body, -1)
		require.Len(t, found, 1)
		require.Contains(t, contentSecurityPolicy, element+"-src '"+hashOf(found[0][1])+"'")
	}
	require.NotRegexp(t, `\s(on\w+|style)=`, body, "the policy forbids them")
}

func TestMounted(t *testing.T) {
	page := Handler(newQueue("a"), newQueue("b"))
	for _, query := range []string{"", "?queue=a", "?queue=a&shards=adds&rows=3"} {
		r := request("GET", query)
		r.URL.Path = "/some/prefix/more"
		w := ask(http.StripPrefix("/some/prefix", page), r)
		require.Equal(t, http.StatusOK, w.Code)
		for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1) {
			require.Regexp(t, `^(\?|#|data:|$)`, link[1], "relative to the path")
		}
	}
}

func TestUnknownValuesAreRefused(t *testing.T) {
	h := must(t, Options{Queues: []shardq.Inspector{newQueue("q")}, MaxRows: 50})
	for query, want := range map[string]string{
		"?format=xml":                       "format is xml: want html, json, text",
		"?format=":                          `format is "": want html`,
		"?shards=heat":                      "shards is heat: want depth, inflight, delayed, adds",
		"?rows=0":                           "rows is 0: want 1 to 50",
		"?rows=99999999999999999999":        "want 1 to 50",
		"?refresh=3601":                     "want 1 to 3600",
		"?queue=p":                          "there is no queue p",
		"?queue=%00%ff":                     `there is no queue "\x00\xff"`,
		"?ite=x":                            "unknown parameter ite: want queue, format, shards, rows, refresh, find, problems, key, item, group or worker",
		"?item=x&key=y":                     "item and key are given together: want one of them",
		"?worker=0":                         "worker is 0: want 1 to",
		"?problems=no":                      "problems is no: want 1",
		"?rows=1&rows=2":                    "rows is given 2 times",
		"?a;b":                              "the query is malformed",
		"?key=" + strings.Repeat("x", 1001): "key has 1,001 bytes: want at most 1,000",
	} {
		w := ask(h, request("GET", query))
		require.Equal(t, http.StatusBadRequest, w.Code, query)
		require.Contains(t, w.Body.String(), want, query)
		require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
	}
	w := ask(h, request("GET", "?format="+strings.Repeat("x", 100_000)))
	require.Less(t, w.Body.Len(), 500, "an error repeats little of the query")
	get(t, h, "?queue=q&format=html&rows=50&shards=adds&refresh=3600")
}

func TestNegotiation(t *testing.T) {
	h := Handler(newQueue(""))
	for _, c := range []struct{ query, accept, agent, want string }{
		{"", "", "", "text/html; charset=utf-8"},
		{"", "*/*", "curl/8.0", "text/plain; charset=utf-8"},
		{"", "text/html,application/xhtml+xml,*/*;q=0.8", "Mozilla/5.0", "text/html; charset=utf-8"},
		{"", "text/html", "curl/8.0", "text/html; charset=utf-8"},
		{"", "application/json", "", "application/json"},
		{"", "image/png, TEXT/Plain;q=0.5", "", "text/plain; charset=utf-8"},
		{"?format=json", "text/html", "", "application/json"},
		{"?format=html", "*/*", "curl/8.0", "text/html; charset=utf-8"},
	} {
		r := request("GET", c.query)
		r.Header.Set("Accept", c.accept)
		r.Header.Set("User-Agent", c.agent)
		require.Equal(t, c.want, ask(h, r).Header().Get("Content-Type"), "%+v", c)
	}
}

func TestFaultyOptions(t *testing.T) {
	_, err := New(Options{Queues: []shardq.Inspector{nil}, MaxRows: -1, PollEvery: 2})
	require.ErrorContains(t, err, "Options.Queues[0] is nil")
	require.ErrorContains(t, err, "Options.MaxRows is -1: want 0 (the default) to 10000")
	require.ErrorContains(t, err, "Options.PollEvery is 2ns: want 0 (the default), or 10ms or more")
	require.Panics(t, func() { Handler(nil) })
}

// TestOnlyLocalClients checks who may see the page by default: neither other
// machines, nor proxies, nor the pages of other sites.
func TestOnlyLocalClients(t *testing.T) {
	h := Handler(newQueue("confidential"))
	check := func(local bool, remote, host, header, value string) {
		r := request("GET", "")
		r.RemoteAddr, r.Host = remote, host
		r.Header.Set(header, value)
		w := ask(h, r)
		require.Equal(t, map[bool]int{true: 200, false: 403}[local], w.Code, "%s, %s, %s: %s", remote, host, header, value)
		require.Equal(t, local, strings.Contains(w.Body.String(), "confidential"))
		require.Equal(t, local, !strings.Contains(w.Body.String(), "debugpage.Options.Allow"))
	}
	const local = "127.0.0.1:1234"
	for _, of := range [][2]string{
		{local, "localhost:6060"}, {local, "LOCALHOST.:6060"}, {"127.8.9.1:1234", "127.0.0.1:6060"}, {"[::1]:1234", "[::1]"},
		{"[::ffff:127.0.0.1]:1234", "127.0.0.1"},
	} {
		check(true, of[0], of[1], "Sec-Fetch-Site", "same-site")
	}
	for _, of := range [][2]string{
		{"192.0.2.1:1234", "localhost:6060"}, {"[::ffff:192.0.2.1]:1234", "localhost"}, {"@", "localhost"}, {local, "localhost.."},
		{local, "localhost.attacker.example"}, {local, "127.0.0.1.attacker.example"}, {local, "192.0.2.7:6060"}, {local, ""},
	} {
		check(false, of[0], of[1], "", "")
	}
	check(false, local, "localhost", "Sec-Fetch-Site", "cross-site")
	for _, header := range []string{
		"Forwarded", "Via", "X-Forwarded-Anything", "X-Envoy-External-Address", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP",
	} {
		check(false, local, "localhost", header, "127.0.0.1")
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
}
