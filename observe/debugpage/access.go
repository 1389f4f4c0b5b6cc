package debugpage

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Local reports whether a request comes from this machine and is addressed to
// it. Its client and its Host must be loopback addresses, or the Host
// "localhost". It must not have the headers of a proxy, and a browser must not
// have sent it for the page of another site.
//
// The user of a tunnel, such as ssh -L or kubectl port-forward, counts as
// local. So does every client of a reverse proxy on this machine that sets none
// of the usual headers.
func Local(r *http.Request) bool {
	// The Host, because of DNS rebinding: a page of another site can have its
	// own name resolve to 127.0.0.1, and read what is served there.
	host := hostOf(r.Host)
	localName := strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") || loopback(host)
	return loopback(hostOf(r.RemoteAddr)) && localName && !proxied(r) && r.Header.Get("Sec-Fetch-Site") != "cross-site"
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

var proxyHeaders = []string{"Forwarded", "Via", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip"}

// proxied reports whether a request has a header of a proxy.
func proxied(r *http.Request) bool {
	for name := range r.Header {
		if slices.Contains(proxyHeaders, name) || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-Envoy-") {
			return true
		}
	}
	return false
}
