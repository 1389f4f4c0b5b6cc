package debugpage

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type query struct {
	format, queue, heat, find   string
	hasQueue, hasHeat, problems bool
	rows, asked, refresh        int // the last two 0 if the request does not ask for them
	choice                      choice
}

const (
	asHTML = "html"
	asJSON = "json"
	asText = "text"

	maxText    = 1000 // bytes to search for
	maxRefresh = 3600
	pageRows   = 8 // on a page that does not ask for more
)

func (o Options) parse(r *http.Request) (query, error) {
	q := query{format: negotiated(r), heat: quantities[0].Name}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, fmt.Errorf("the query is malformed: %v", err)
	}
	for name, given := range values {
		if len(given) > 1 {
			return q, fmt.Errorf("%s is given %d times: want it once", showItem(name).inWords(), len(given))
		}
		if err := o.parseValue(&q, name, given[0]); err != nil {
			return q, err
		}
	}
	chosen := slices.DeleteFunc([]string{"group", "item", "key", "worker"}, func(name string) bool { return values.Get(name) == "" })
	switch len(chosen) {
	case 0:
	case 1:
		q.choice.by, q.choice.text = chosen[0], values.Get(chosen[0])
	default:
		return q, fmt.Errorf("%s are given together: want one of them", strings.Join(chosen, " and "))
	}
	if q.rows = q.asked; q.rows == 0 {
		q.rows = o.MaxRows
		if q.format == asHTML && q.choice.by == "" {
			q.rows = min(pageRows, o.MaxRows)
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
		q.hasHeat = true
		q.heat, err = oneOf(name, value, each(quantities, func(q quantity) string { return q.Name })...)
	case "rows":
		q.asked, err = number(name, value, 1, o.MaxRows)
	case "problems":
		_, err = oneOf(name, value, "1")
		q.problems = true
	case "find", "key", "item", "group":
		if len(value) > maxText {
			err = fmt.Errorf("%s has %s bytes: want at most %s", name, formatCount(len(value)), formatCount(maxText))
		}
		if name == "find" {
			q.find = value
		}
	case "worker":
		q.choice.worker, err = number(name, value, 1, math.MaxInt)
	case "refresh":
		q.refresh, err = number(name, value, 1, maxRefresh)
	default:
		err = fmt.Errorf("unknown parameter %s: want queue, format, shards, rows, refresh, find, problems, key, item, group or worker", showItem(name).inWords())
	}
	return err
}

func oneOf(name, value string, known ...string) (string, error) {
	if slices.Contains(known, value) {
		return value, nil
	}
	return "", fmt.Errorf("%s is %s: want %s", name, showItem(value).inWords(), strings.Join(known, ", "))
}

func number(name, value string, least, greatest int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > greatest {
		return 0, fmt.Errorf("%s is %s: want %d to %d", name, showItem(value).inWords(), least, greatest)
	}
	return n, nil
}

// negotiated returns the first known format in Accept, or text for curl and the
// like.
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
	client, _, _ := strings.Cut(r.UserAgent(), "/")
	return orNone(slices.Contains([]string{"curl", "Wget", "HTTPie"}, client) && client != r.UserAgent(), asText, asHTML)
}

// Local reports whether a request comes from this machine and is addressed to
// it: its client and its Host are loopback addresses, or the Host is
// "localhost". The request has no header of a proxy, and no browser sent it for
// the page of another site.
//
// The user of a tunnel, such as ssh -L or kubectl port-forward, counts as
// local. So does every client of a local reverse proxy that sets none of the
// usual headers.
func Local(r *http.Request) bool {
	// The Host, because of DNS rebinding: a page of another site can have its
	// own name resolve to 127.0.0.1, and read what is served there.
	host := hostOf(r.Host)
	localName := strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") || loopback(host)
	return loopback(hostOf(r.RemoteAddr)) && localName && !proxied(r) && r.Header.Get("Sec-Fetch-Site") != "cross-site"
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	if n := len(address); n > 1 && address[0] == '[' && address[n-1] == ']' {
		return address[1 : n-1]
	}
	return address
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

var proxyHeaders = []string{"Forwarded", "Via", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip"}

func proxied(r *http.Request) bool {
	for name := range r.Header {
		if slices.Contains(proxyHeaders, name) || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-Envoy-") {
			return true
		}
	}
	return false
}
