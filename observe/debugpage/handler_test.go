package debugpage

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestOnlyGetAndHead(t *testing.T) {
	q := newQueue("q")
	h := Handler(q)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"} {
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

func TestHeaders(t *testing.T) {
	h := Handler(newQueue(""))
	refused := request("GET", "")
	refused.RemoteAddr = "192.0.2.1:1"
	for _, r := range []*http.Request{request("GET", ""), request("GET", "?format=json"), request("GET", "?x=y"), request("POST", ""), refused} {
		header := ask(h, r).Header()
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", header.Get("Referrer-Policy"))
		require.Equal(t, "no-store", header.Get("Cache-Control"))
		require.Equal(t, "same-origin", header.Get("Cross-Origin-Resource-Policy"))
		require.Empty(t, header.Get("Access-Control-Allow-Origin"))
		policy := header.Get("Content-Security-Policy")
		for _, directive := range []string{
			"default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "connect-src 'self'", "img-src data:",
			"base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
		} {
			require.Contains(t, policy, directive)
		}
		require.NotContains(t, policy, "unsafe")
	}
}

// TestPolicyMatchesThePage checks that the hashes are those of the style
// and the script in the page.
func TestPolicyMatchesThePage(t *testing.T) {
	body := get(t, Handler(newQueue("")), "")
	for _, element := range []string{"style", "script"} {
		found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(body, -1)
		require.Len(t, found, 1)
		require.Contains(t, contentSecurityPolicy, element+"-src '"+hashOf(found[0][1])+"'")
	}
	require.NotRegexp(t, `\s(on\w+|style)=`, body, "the policy forbids them")
	require.NotRegexp(t, `(src|href)="(https?:)?//`, body, "nothing comes from elsewhere")
}

// TestMounted checks that the page works at any path, and links only to itself.
func TestMounted(t *testing.T) {
	page := Handler(newQueue("a"), newQueue("b"))
	mux := http.NewServeMux()
	mux.Handle("/debug/queues", page)
	mux.Handle("/some/prefix/", http.StripPrefix("/some/prefix", page))
	for _, path := range []string{"/debug/queues", "/some/prefix/", "/some/prefix/more"} {
		for _, query := range []string{"", "?queue=a", "?queue=a&shards=adds&rows=3"} {
			r := request("GET", query)
			r.URL.Path = path
			w := ask(mux, r)
			require.Equal(t, http.StatusOK, w.Code, path)
			for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1) {
				require.Regexp(t, `^(\?|#|data:|$)`, link[1], "relative to the path")
			}
		}
	}
}

func TestUnknownValuesAreRefused(t *testing.T) {
	h := must(t, Options{Queues: []shardq.Inspector{newQueue("q")}, MaxRows: 50})
	for query, want := range map[string]string{
		"?format=xml":                "format is xml: want html, json, text",
		"?format=":                   `format is "": want html`,
		"?shards=heat":               "shards is heat: want depth, inflight, delayed, adds",
		"?rows=0":                    "rows is 0: want 1 to 50",
		"?rows=51":                   "want 1 to 50",
		"?rows=many":                 "want 1 to 50",
		"?rows=99999999999999999999": "want 1 to 50",
		"?refresh=0":                 "want 1 to 3600",
		"?refresh=3601":              "want 1 to 3600",
		"?queue=p":                   "there is no queue p",
		"?queue=%00%ff":              `there is no queue "\x00\xff"`,
		"?ite=x":                     "unknown parameter ite: want queue, format, shards, rows, refresh, find, problems, key, item, group or worker",
		"?item=x&key=y":              "item and key are given together: want one of them",
		"?worker=0":                  "worker is 0: want 1 to",
		"?problems=no":               "problems is no: want 1",
		"?rows=1&rows=2":             "rows is given 2 times",
		"?a;b":                       "the query is malformed",
		"?%zz":                       "the query is malformed",
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

func TestForms(t *testing.T) {
	h := Handler(newQueue(""))
	for _, c := range []struct{ query, accept, agent, want string }{
		{"", "", "", "text/html; charset=utf-8"},
		{"", "*/*", "curl/8.0", "text/plain; charset=utf-8"},
		{"", "*/*", "Wget/1.21", "text/plain; charset=utf-8"},
		{"", "text/html,application/xhtml+xml,*/*;q=0.8", "Mozilla/5.0", "text/html; charset=utf-8"},
		{"", "text/html", "curl/8.0", "text/html; charset=utf-8"},
		{"", "application/json", "", "application/json"},
		{"", "image/png, TEXT/Plain;q=0.5", "", "text/plain; charset=utf-8"},
		{"?format=json", "text/html", "", "application/json"},
		{"?format=text", "text/html", "", "text/plain; charset=utf-8"},
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
	_, err = New(Options{PollEvery: -time.Second})
	require.Error(t, err)
}

// TestServed checks that a real server sends the same as the recorder.
func TestServed(t *testing.T) {
	server := httptest.NewServer(Handler(newQueue("q")))
	defer server.Close()
	response, err := server.Client().Get(server.URL + "/?format=text")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	head, err := server.Client().Head(server.URL)
	require.NoError(t, err)
	defer head.Body.Close()
	require.Positive(t, head.ContentLength)
}
