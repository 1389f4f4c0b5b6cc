package debugpage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
)

// A page beside those of net/http/pprof, for users of the machine.
func ExampleHandler() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true})
	http.Handle("/debug/queues", debugpage.Handler(queue))
	// http.ListenAndServe("localhost:6060", nil)
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
