package debugpage

import (
	"bytes"
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
// see [Local]. It calls [New] with only Queues set, and panics if a queue is
// nil.
//
// The handler may be mounted at any path of any mux. It serves everything at
// that path, and the query selects what. It starts no goroutine, is safe for
// concurrent use, and also works after the shutdown of a queue.
//
// An answer about one queue costs a call each of Inspect, InspectRetries,
// InspectFailures, Groups, GroupAttempts and TimeLeft: see [shardq.Inspector].
// The time grows with the rows, the shards, the groups, the items in the
// limiter, and the delayed items, up to 65,536 in each shard. Where Inspect has
// to search, it also grows with the number of all items: see
// [shardq.Queue.Snapshot]. An answer about several queues costs one call of
// Stats for each, also beyond the thousand queues that it shows. If an item is
// stuck, an answer also visits the items in flight to count those that are.
// Workers continue meanwhile: no lock is held for more than a few hundred rows.
func Handler(queues ...shardq.Inspector) http.Handler {
	handler, err := New(Options{Queues: queues})
	if err != nil {
		panic(err.Error())
	}
	return handler
}

// New returns a page as [Handler] does, or an error that lists every fault of
// the options.
func New(options Options) (http.Handler, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &handler{options: options.withDefaults(), names: names{handler: rand.Text()}, token: rand.Text()}, nil
}

type handler struct {
	options Options
	names   names
	shown   shownItems
	// token proves that a request for an action comes from a page of this
	// handler.
	token       string
	crossOrigin http.CrossOriginProtection
}

// maxQueues limits the queues that the overview shows. All are judged, because
// those with a problem come first.
const maxQueues = 1000

// ServeHTTP answers a request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	switch {
	case !h.options.answers(r.Method):
		w.Header().Set("Allow", strings.Join(h.options.methods(), ", "))
		http.Error(w, "this method is not allowed: want "+strings.Join(h.options.methods(), ", "), http.StatusMethodNotAllowed)
		return
	case !h.options.Allow(r):
		h.deny(w, r)
		return
	case r.Method == http.MethodPost:
		h.act(w, r)
		return
	}
	query, err := h.options.parse(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	report, err := h.read(query)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.write(w, r, query, report)
}

// deny answers a request that Options.Allow refuses.
func (h *handler) deny(w http.ResponseWriter, r *http.Request) {
	const reason = "access denied: by default this page answers only clients on the same machine that request a local host; " +
		"debugpage.Options.Allow changes that"
	if r.Method == http.MethodPost {
		h.logRefusal("remote", r.RemoteAddr, "error", reason)
	}
	http.Error(w, reason, http.StatusForbidden)
}

// methods returns the methods that the handler answers. A POST is an action.
func (o Options) methods() []string {
	if o.AllowActions == nil {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{http.MethodGet, http.MethodHead, http.MethodPost}
}

func (o Options) answers(method string) bool { return slices.Contains(o.methods(), method) }

// secure sets the headers that all answers have.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept, User-Agent")
}

// read returns a report about one queue, if the query selects it or it is the
// only one, and otherwise an overview of all queues.
func (h *handler) read(q query) (report, error) {
	start := time.Now()
	queues := h.directory()
	rd := h.reader(q.rows)
	r := report{Version: schemaVersion, Title: h.options.Title, Time: start.UTC(), Queues: []queueReport{}}
	switch {
	case q.hasQueue:
		selected, err := queues.find(q.queue)
		if err != nil {
			return r, err
		}
		r.add(rd, selected, q)
		return r, nil
	case len(queues.all) == 1:
		r.add(rd, queues.all[0], q)
		return r, nil
	case q.choice.any():
		return r, errors.New("there are several queues: want queue as well")
	default:
		for _, n := range queues.matching(q.find) {
			r.Queues = append(r.Queues, rd.overview(n))
		}
		if q.problems {
			r.Queues = onlyProblems(r.Queues)
		}
		r.limit(maxQueues)
	}
	r.TookSeconds = inSeconds(time.Since(start))
	return r, nil
}

// reader returns a reader of tables with a number of rows.
func (h *handler) reader(rows int) reader {
	return reader{options: h.options, rows: rows, instance: h.names.instance, shown: &h.shown}
}

// directory returns all queues of the options by their names.
func (h *handler) directory() directory {
	return h.names.nameAll(append(h.options.Queues[:len(h.options.Queues):len(h.options.Queues)], h.options.List()...))
}

// add reads one queue, or the items of it that the query selects.
func (r *report) add(rd reader, n named, q query) {
	r.whole, r.of = true, n
	one := queueReport{}
	if q.choice.any() {
		one = rd.find(n, q.choice)
	} else {
		one = rd.whole(n)
	}
	one.asked = q.asked
	r.Queues, r.TookSeconds = append(r.Queues, one), inSeconds(time.Since(r.Time))
}

// write writes a report in the requested format, all at once.
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
