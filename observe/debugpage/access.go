package debugpage

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Local reports whether a request was made on this machine, to this machine: its client and
// its Host are both loopback addresses (the Host may be "localhost"), it did not come
// through a proxy that says so, and no browser sent it for the page of another site.
//
// The Host counts because of DNS rebinding: a page of anybody's that is open in a browser on
// this machine can have its own name resolve to 127.0.0.1, and read what is served there. A
// tunnel, such as that of ssh -L or kubectl port-forward, makes its user local.
//
// A reverse proxy on the same machine that sets none of the usual headers makes everybody local.
func Local(r *http.Request) bool {
	return loopback(hostOf(r.RemoteAddr)) && localName(hostOf(r.Host)) && !proxied(r) &&
		r.Header.Get("Sec-Fetch-Site") != "cross-site"
}

// hostOf returns an address without its port, if it has one.
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

// localName reports whether a host is this one: a name in letters of either case, and with the dot of the root or without.
func localName(host string) bool {
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") || loopback(host)
}

var proxyHeaders = []string{"Forwarded", "Via", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip"}

// proxied reports whether a proxy says that it speaks for somebody else.
func proxied(r *http.Request) bool {
	for name := range r.Header {
		if slices.Contains(proxyHeaders, name) || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-Envoy-") {
			return true
		}
	}
	return false
}
