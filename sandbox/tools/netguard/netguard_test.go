package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools/netguard"
)

func TestReserved(t *testing.T) {
	for _, s := range []string{
		"127.0.0.1", "127.255.0.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.1.1",
		"100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "2001::1", "100::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "::a00:1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::",
		"2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1", "4000::1", "::8.8.8.8",
	} {
		assert.NotEmpty(t, netguard.Reserved(netip.MustParseAddr(s)), s)
	}
	assert.NotEmpty(t, netguard.Reserved(netip.Addr{}))
	for _, s := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "::ffff:8.8.8.8", "2606:4700::1", "2a00:1450::1", "64:ff9b::808:808", "2002:808:808::1"} {
		assert.Empty(t, netguard.Reserved(netip.MustParseAddr(s)), s)
	}
}

func TestCheckURL(t *testing.T) {
	for s, ok := range map[string]bool{
		"http://a": true, "https://a:8443/x?y": true, "HTTP://a": true, "ftp://a": false, "file:///etc/passwd": false, "gopher://a": false, "//a": false,
		"http:///x": false, "http://u:p@a": false, "http://u@a": false, "x": false, "http://:80/": false, "unix:///run/docker.sock": false,
	} {
		u, err := url.Parse(s)
		require.NoError(t, err)
		assert.Equal(t, ok, netguard.CheckURL(u) == nil, s)
	}
}

// server counts what reaches it.
func server(t *testing.T, h http.HandlerFunc) (*httptest.Server, *int) {
	t.Helper()
	n := new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { *n++; h(w, r) }))
	t.Cleanup(s.Close)
	return s, n
}

func only(addr string) func(netip.AddrPort) bool {
	return func(a netip.AddrPort) bool { return a.String() == addr }
}

func get(t *testing.T, g netguard.Guard, u string) error {
	t.Helper()
	r, err := g.Client(10 * time.Second).Get(u)
	if err == nil {
		assert.NoError(t, r.Body.Close())
	}
	return err
}

func TestClient(t *testing.T) {
	s, hits := server(t, func(http.ResponseWriter, *http.Request) {})
	addr := s.Listener.Addr().String()
	_, port, _ := strings.Cut(addr, ":")
	r, err := http.Get(s.URL)
	require.NoError(t, err, "an ordinary client reaches it")
	require.NoError(t, r.Body.Close())
	for _, host := range []string{addr, "localhost:" + port, "[::ffff:127.0.0.1]:" + port, "0.0.0.0:" + port} {
		assert.ErrorIs(t, get(t, netguard.Guard{}, "http://"+host), netguard.ErrForbidden, host)
	}
	assert.Equal(t, 1, *hits)
	assert.NoError(t, get(t, netguard.Guard{Allow: only(addr)}, s.URL))
	assert.Equal(t, 2, *hits)
	for i, host := range []string{"１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1"} { // IDNA makes digits and dots of these
		r, err := http.Get("http://" + host + ":" + port)
		require.NoError(t, err, "an ordinary client reaches it")
		require.NoError(t, r.Body.Close())
		assert.ErrorIs(t, get(t, netguard.Guard{}, "http://"+host+":"+port), netguard.ErrForbidden, host)
		assert.Equal(t, 3+i, *hits)
	}
}

func TestClientRedirects(t *testing.T) {
	secret, hits := server(t, func(http.ResponseWriter, *http.Request) {})
	var to string
	s, _ := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	g := netguard.Guard{Allow: only(s.Listener.Addr().String())}
	for _, to = range []string{secret.URL, "http://169.254.169.254/latest", "http://[64:ff9b::a9fe:a9fe]/", "file:///etc/passwd", "http://u:p@192.0.2.1/"} {
		assert.ErrorIs(t, get(t, g, s.URL), netguard.ErrForbidden, to)
	}
	assert.Zero(t, *hits)
	to = s.URL
	assert.ErrorContains(t, get(t, g, s.URL), "more than 5 redirects")
}

// A name is asked once, and the answer that was checked is the one that is used.
func TestClientRebinding(t *testing.T) {
	s, hits := server(t, func(http.ResponseWriter, *http.Request) {})
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	asked := 0
	answers := [][]netip.Addr{
		{netip.MustParseAddr("127.0.0.1")}, {netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("127.0.0.1")},
		{netip.MustParseAddr("::ffff:127.0.0.1")}, {netip.MustParseAddr("64:ff9b::7f00:1")},
	}
	g := netguard.Guard{Lookup: func(context.Context, string) ([]netip.Addr, error) { asked++; return answers[asked-1], nil }}
	for range answers {
		assert.ErrorIs(t, get(t, g, "http://name.example:"+port), netguard.ErrForbidden)
	}
	assert.Equal(t, len(answers), asked)
	assert.Zero(t, *hits)
	g.Allow = only(s.Listener.Addr().String())
	asked = 0
	require.NoError(t, get(t, g, "http://name.example:"+port))
	assert.Equal(t, 1, asked)
}

// A name's answer says nothing about the inside but that it is not public; other notations of an address are names.
func TestClientTellsNothing(t *testing.T) {
	s, hits := server(t, func(http.ResponseWriter, *http.Request) {})
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	inside := func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "nosuch.example" {
			return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.8.7:53", IsNotFound: true}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	for _, host := range []string{"vault.example", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1."} { // inet_aton(3) knows these
		err := get(t, netguard.Guard{Lookup: inside}, "http://"+host+":"+port)
		require.ErrorIs(t, err, netguard.ErrForbidden, host)
		_, told, _ := strings.Cut(err.Error(), "forbidden address: ")
		assert.Equal(t, strconv.Quote(host)+" has one that is not public", told)
	}
	err := get(t, netguard.Guard{Lookup: inside}, "http://nosuch.example/")
	require.ErrorContains(t, err, "no such host")
	assert.NotContains(t, err.Error(), "10.9.8.7")
	assert.Zero(t, *hits)
}

// What a server says in its first line is shown, and steers nothing.
func TestFetchStatus(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			_, err = c.Write([]byte("HTTP/1.1 404 \x1b[31mgone\a\xff\r\n\r\n"))
			assert.NoError(t, errors.Join(err, c.Close()))
		}
	})
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	_, _, err = netguard.Guard{Allow: only(s.Listener.Addr().String())}.Fetch(t.Context(), u)
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
	assert.EqualError(t, err, "the server answered 404 ?[31mgone?\uFFFD")
}

func TestClientUsesNoProxy(t *testing.T) {
	proxy, hits := server(t, func(http.ResponseWriter, *http.Request) {})
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	assert.ErrorIs(t, get(t, netguard.Guard{}, "http://10.0.0.1/"), netguard.ErrForbidden)
	assert.Zero(t, *hits)
}
