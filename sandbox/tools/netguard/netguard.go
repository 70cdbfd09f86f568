// Package netguard makes HTTP clients that reach public addresses only, for programs that fetch what a model or another
// untrusted party names. Every name is looked up once, every address of the answer is checked, and a checked address is
// the one that is dialed, so that a second look-up cannot change the answer. Redirects go the same way.
//
// # What it does not protect
//
// Where a public address leads is not known here: a host's own public address, a relay, or a service that asks further.
// The rules know the reserved ranges and the usual tunnels into them, not a network's own address plan.
package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// ErrForbidden is in every error about an address or a URL that may not be reached.
var ErrForbidden = errors.New("forbidden address")

// Guard says what may be reached. The zero value allows public addresses.
type Guard struct {
	// Allow, when not nil, allows addresses that are not public. It is asked with the address that would be dialed.
	Allow func(netip.AddrPort) bool
	// Lookup, when not nil, answers for the names of hosts in place of the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

const (
	maxRedirects = 5
	dialTimeout  = 10 * time.Second
	maxHeader    = 64 << 10
)

// Client returns a client that reaches what g allows. It uses no proxy of the environment, which would do the reaching
// in its place, keeps no connection and no cookie, and hands bodies over as they came.
func (g Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: g.dial, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: timeout,
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true,
		},
		CheckRedirect: checkRedirect,
	}
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return CheckURL(r.URL)
}

// CheckURL refuses a URL that is not plain HTTP or HTTPS to a host, or that carries a password.
func CheckURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: the scheme %q is neither http nor https", ErrForbidden, u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("%w: no host", ErrForbidden)
	case u.User != nil:
		return fmt.Errorf("%w: a URL with a user in it", ErrForbidden)
	}
	return nil
}

// dial connects to an address that was checked.
func (g Guard) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	n, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	addrs, named, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var targets []netip.AddrPort
	for _, a := range addrs {
		t := netip.AddrPortFrom(a.Unmap(), uint16(n))
		// One bad address condemns the name: whoever mixes them is trying something. What a name of the inside stands for is
		// nobody's business.
		why := g.check(t)
		switch {
		case why == "":
		case named:
			return nil, fmt.Errorf("%w: %q has one that is not public", ErrForbidden, host)
		default:
			return nil, fmt.Errorf("%w: %s is %s", ErrForbidden, t.Addr(), why)
		}
		targets = append(targets, t)
	}
	return dialFirst(ctx, network, targets)
}

func dialFirst(ctx context.Context, network string, targets []netip.AddrPort) (net.Conn, error) {
	err := errors.New("no address")
	for _, t := range targets {
		d := net.Dialer{Timeout: dialTimeout}
		var c net.Conn
		if c, err = d.DialContext(ctx, network, t.String()); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// resolve returns the addresses of a host, and whether it was a name that was looked up.
func (g Guard) resolve(ctx context.Context, host string) (addrs []netip.Addr, named bool, err error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, false, nil
	}
	lookup := g.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err = lookup(ctx, host)
	var dns *net.DNSError
	if errors.As(err, &dns) {
		told := *dns
		told.Server = "" // it is the inside's
		err = &told
	}
	return addrs, true, err
}

// check says why an address may not be reached, "" when it may.
func (g Guard) check(t netip.AddrPort) string {
	if g.Allow != nil && g.Allow(t) {
		return ""
	}
	return Reserved(t.Addr())
}
