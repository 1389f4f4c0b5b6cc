// Package page serves the state of a cluster's queue as a web page, which
// updates itself, and as JSON.
package page

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/shardq/shardq/cluster"
)

// A Reader reads the state of a queue, such as a [cluster.Node].
type Reader interface {
	Status(ctx context.Context) (cluster.Status, error)
}

//go:embed page.html
var text string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"age": age, "short": short}).Parse(text))

// Handler returns a handler of the page, which shows keys: mind who can open
// it. With ?format=json it answers with the [cluster.Status] as JSON,
// and with status 503 if the servers do not answer within five seconds.
func Handler(reader Reader) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "want GET", http.StatusMethodNotAllowed)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		status, err := reader.Status(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.URL.Query().Get("format") == "json" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(status)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		_ = page.Execute(w, viewOf(status))
	})
}

type view struct {
	cluster.Status
	Now      time.Time
	Unread   int                      // partitions
	Oldest   *cluster.PartitionStatus // with the oldest pending key, or nil
	StuckKey map[string]any           // the key in flight for longest, with its node, or nil
}

func viewOf(s cluster.Status) view {
	v := view{Status: s, Now: time.Now()}
	for i, p := range s.Partitions {
		if p.State != cluster.Open {
			v.Unread++
		}
		if p.OldestKey != "" && (v.Oldest == nil || p.OldestAdded.Before(v.Oldest.OldestAdded)) {
			v.Oldest = &s.Partitions[i]
		}
	}
	if key, node, ok := s.Stuck(); ok {
		v.StuckKey = map[string]any{"Began": key.Began, "Key": key.Key, "Node": node}
	}
	return v
}

func age(now, t time.Time) string {
	switch d := now.Sub(t); {
	case d < 0:
		return "0 s" // the clocks differ
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	default:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
}

// short prints the end of a node's id: the beginnings are alike.
func short(id string) string { return id[max(0, len(id)-6):] }
