package debugpage

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A query is what a request asks for.
type query struct {
	format string
	// queue is the id of the queue that is selected, if hasQueue.
	queue    string
	hasQueue bool
	rows     int
	// heat is the quantity that the map of the shards shows.
	heat string
	// refresh is after how many seconds a browser without JavaScript loads the page again, or 0.
	refresh int
}

const (
	asHTML = "html"
	asJSON = "json"
	asText = "text"

	maxRefresh = 3600
)

// parse returns what a request asks for, or an error that says what it may.
func (o Options) parse(r *http.Request) (query, error) {
	q := query{format: negotiated(r), rows: o.MaxRows, heat: quantities[0].Name}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, fmt.Errorf("the query is malformed: %v", err)
	}
	for name, given := range values {
		if len(given) > 1 {
			return q, fmt.Errorf("%s is given %d times: want it once", showText(name).inWords(), len(given))
		}
		if err := o.parseValue(&q, name, given[0]); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (o Options) parseValue(q *query, name, value string) (err error) {
	switch name {
	case "queue":
		q.queue, q.hasQueue = value, true
	case "format":
		q.format, err = oneOf(name, value, asHTML, asJSON, asText)
	case "shards":
		q.heat, err = oneOf(name, value, quantityNames()...)
	case "rows":
		q.rows, err = number(name, value, o.MaxRows)
	case "refresh":
		q.refresh, err = number(name, value, maxRefresh)
	default:
		err = fmt.Errorf("there is no %s: want queue, format, shards, rows or refresh", showText(name).inWords())
	}
	return err
}

func oneOf(name, value string, known ...string) (string, error) {
	if slices.Contains(known, value) {
		return value, nil
	}
	return "", fmt.Errorf("%s is %s: want %s", name, showText(value).inWords(), strings.Join(known, ", "))
}

func number(name, value string, greatest int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > greatest {
		return 0, fmt.Errorf("%s is %s: want 1 to %d", name, showText(value).inWords(), greatest)
	}
	return n, nil
}

// negotiated returns the format for a request that does not name one: what Accept names first
// of the three, and otherwise text for curl and the like.
func negotiated(r *http.Request) string {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		media, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "text/html", "application/xhtml+xml":
			return asHTML
		case "application/json":
			return asJSON
		case "text/plain":
			return asText
		}
	}
	for _, client := range []string{"curl/", "Wget/", "HTTPie/"} {
		if strings.HasPrefix(r.UserAgent(), client) {
			return asText
		}
	}
	return asHTML
}
