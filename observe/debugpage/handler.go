package debugpage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

// Handler returns a page about queues that answers requests from this machine:
// see [Local]. It panics if a queue is nil.
//
// The handler fits any path of any mux, because the query selects what it
// serves. It starts no goroutine, is safe for concurrent use, and also works
// after the shutdown of a queue.
func Handler(queues ...shardq.Inspector) http.Handler {
	handler, err := New(Options{Queues: queues})
	if err != nil {
		panic(err.Error())
	}
	return handler
}

// New returns a page as [Handler] does, or an error that lists every fault.
func New(options Options) (http.Handler, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &handler{options: options.withDefaults(), names: names{handler: rand.Text()}, token: rand.Text(), samples: samples{of: map[string]course{}}}, nil
}

type handler struct {
	options     Options
	names       names
	shown       shownItems
	samples     samples
	token       string // proves that an action comes from a page of this handler
	crossOrigin http.CrossOriginProtection
}

const maxQueues = 1000 // that the overview shows, of all that it judges

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	methods := []string{http.MethodGet, http.MethodHead}
	if h.options.AllowActions != nil { // a POST is an action
		methods = append(methods, http.MethodPost)
	}
	switch {
	case !slices.Contains(methods, r.Method):
		w.Header().Set("Allow", strings.Join(methods, ", "))
		http.Error(w, "this method is not allowed: want "+strings.Join(methods, ", "), http.StatusMethodNotAllowed)
		return
	case !h.options.Allow(r):
		if r.Method == http.MethodPost {
			h.logRefusal("remote", r.RemoteAddr, "error", denied)
		}
		http.Error(w, denied, http.StatusForbidden)
		return
	case r.Method == http.MethodPost:
		h.act(w, r)
		return
	}
	query, err := h.options.parse(r)
	var report report
	if err == nil {
		report, err = h.read(r.Context(), query)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.write(w, r, query, report)
}

const denied = "access denied: by default this page answers only clients on the same machine that request a local host; " +
	"debugpage.Options.Allow changes that"

var headers = map[string]string{ // of all answers
	"Content-Security-Policy": contentSecurityPolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
	"Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control": "no-store", "Vary": "Accept, User-Agent",
}

func (h *handler) read(ctx context.Context, q query) (r report, err error) {
	queues := h.directory()
	if !q.hasQueue && len(queues.all) == 1 {
		q.hasQueue, q.queue = true, queues.all[0].id
	}
	wanted := queues.all
	if q.hasQueue {
		selected, err := queues.find(q.queue)
		if err != nil {
			return r, err
		}
		wanted = []named{selected}
	}
	if q.choice.by == "" {
		h.look(ctx, wanted)
	}
	start := time.Now()
	r = report{Version: schemaVersion, Title: h.options.Title, Time: start.UTC(), Queues: []queueReport{}}
	switch {
	case q.hasQueue:
		selected := wanted[0]
		one := h.reader(selected, q.rows).read(q.choice)
		one.asked = q.asked
		r.one, r.Queues = &selected, append(r.Queues, one)
	case q.choice.by != "":
		return r, errors.New("there are several queues: want queue as well")
	default:
		for _, n := range queues.all {
			if !strings.Contains(strings.ToLower(n.id), strings.ToLower(q.find)) {
				continue
			}
			if one := h.reader(n, q.rows).overview(); !q.problems || one.Verdict.problem() {
				r.Queues = append(r.Queues, one)
			}
		}
		r.limit(maxQueues)
	}
	r.TookSeconds = inSeconds(time.Since(start))
	return r, nil
}

func (h *handler) directory() directory {
	return h.names.nameAll(slices.Concat(h.options.Queues, h.options.List()))
}

func (h *handler) write(w http.ResponseWriter, r *http.Request, q query, report report) {
	var body bytes.Buffer
	var err error
	media := "text/html; charset=utf-8"
	switch q.format {
	case asJSON:
		media = "application/json"
		err = json.NewEncoder(&body).Encode(report)
	case asText:
		media = "text/plain; charset=utf-8"
		writeText(&body, report)
	default:
		err = page.Execute(&body, h.view(r, q, report))
	}
	if err != nil { // no such case is known
		http.Error(w, "debugpage: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", fmt.Sprint(body.Len()))
	if r.Method != http.MethodHead {
		_, _ = body.WriteTo(w) // fails only if the client is gone
	}
}
