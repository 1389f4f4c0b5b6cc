package debugpage_test

import (
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
)

// A page beside those of net/http/pprof, for users of the machine.
func ExampleHandler() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true})
	mux := http.NewServeMux()
	mux.Handle("/debug/queues", debugpage.Handler(queue)) // or several queues

	server := httptest.NewServer(mux) // for this example: serve at localhost:6060
	defer server.Close()
	answer, err := http.Get(server.URL + "/debug/queues?format=text")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status, answer.Header.Get("Content-Type"))
	// Output: 200 OK text/plain; charset=utf-8
}

// A page whose keys are confidential, for operators on any machine.
func ExampleNew() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "mails", Shards: 1})
	queue.Add("someone@example.org")

	page, err := debugpage.New(debugpage.Options{
		Queues: []shardq.Inspector{queue},
		RedactKey: func(queue string, item any) string {
			_, domain, _ := strings.Cut(item.(string), "@")
			return "…@" + domain
		},
		Allow: func(r *http.Request) bool {
			return debugpage.Local(r) || r.Header.Get("Authorization") == "Bearer of operators"
		},
	})
	if err != nil {
		panic(err)
	}

	request := httptest.NewRequest("GET", "/?format=text", nil)
	request.Header.Set("Authorization", "Bearer of operators")
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, request)
	for line := range strings.Lines(answer.Body.String()) {
		if strings.Contains(line, "@") {
			fmt.Println(strings.Fields(line)[0])
		}
	}
	// Output: …@example.org
}

// A page on which operators may act, and others only look. A browser sends the
// form of a button, and the cookie or header that says who the user is.
func ExampleOptions_allowActions() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Shards: 1})
	page, err := debugpage.New(debugpage.Options{
		Queues: []shardq.Inspector{queue},
		AllowActions: func(r *http.Request, action debugpage.Action) bool {
			return r.Header.Get("Authorization") == "Bearer of operators"
		},
		Logger: slog.New(slog.DiscardHandler), // by default, slog logs each action
	})
	if err != nil {
		panic(err)
	}
	send := func(user, method string, form url.Values) *httptest.ResponseRecorder {
		request := httptest.NewRequest(method, "http://localhost/", strings.NewReader(form.Encode()))
		request.RemoteAddr = "127.0.0.1:40000"
		request.Header.Set("Authorization", user)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, request)
		return answer
	}

	shown := send("Bearer of operators", "GET", nil).Body.String()
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(shown)[1]
	pause := url.Values{"action": {"pause"}, "queue": {"invoices"}, "token": {token}}

	fmt.Println(send("a reader", "POST", pause).Code, queue.Stats().Paused)
	fmt.Println(send("Bearer of operators", "POST", pause).Code, queue.Stats().Paused)
	// Output:
	// 403 false
	// 303 true
}
