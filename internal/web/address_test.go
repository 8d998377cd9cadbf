package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestAddresses: of hosts and addresses of every form only the public ones get a request, and nothing arrives anywhere else.
func TestAddresses(t *testing.T) {
	h := newHostile(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	h.name("public.test", public)
	h.name("example.com", public) // the certificate of the server is of this name
	h.name("mapped.test", "::ffff:"+public)
	// The first answer is public, all later answers are not.
	h.name("rebind.test", public, "169.254.169.254")
	h.name("mixed.test", public+" 10.0.0.7")
	h.name("mixed6.test", "fd00::1 "+public)
	h.name("none.test", "")
	for i, private := range privateAddresses {
		h.name(fmt.Sprintf("private%d.test", i), private)
	}
	f := h.fetcher()
	for url, want := range map[string]struct {
		fault capability.WebFault
		seen  string
	}{
		"http://public.test/a":                   {seen: "public.test/a"},
		"http://PUBLIC.test.:80/a#b":             {seen: "public.test/a"},
		"http://" + public + "/":                 {seen: public + "/"},
		"https://example.com/x?y=z":              {seen: "example.com/x?y=z"},
		"http://mapped.test/":                    {seen: "mapped.test/"},
		"http://ｐｕｂｌｉｃ．test/":                    {seen: "public.test/"},
		"http://[::ffff:" + public + "]/":        {fault: capability.WebBadURL},
		"http://mixed.test/":                     {fault: capability.WebAddress},
		"http://mixed6.test/":                    {fault: capability.WebAddress},
		"http://none.test/":                      {fault: capability.WebUnreachable},
		"http://unknown.test/":                   {fault: capability.WebUnreachable},
		"http://2130706434/":                     {fault: capability.WebBadURL},
		"http://0x7f000002/":                     {fault: capability.WebBadURL},
		"http://0177.0.0.2/":                     {fault: capability.WebBadURL},
		"http://127.2/":                          {fault: capability.WebBadURL},
		"http://0x7f.2/":                         {fault: capability.WebBadURL},
		"http://0/":                              {fault: capability.WebBadURL},
		"http://①②⑦.⓪.⓪.②/":                      {fault: capability.WebAddress},
		"http://１２７.0.0.2/":                      {fault: capability.WebAddress},
		"http://127.0.0.2./":                     {fault: capability.WebAddress},
		"http://user:pass@public.test/":          {fault: capability.WebBadURL},
		"http://public.test@169.254.169.254/":    {fault: capability.WebBadURL},
		`http://public.test\@169.254.169.254/`:   {fault: capability.WebBadURL},
		"http://169.254.169.254%2f@public.test/": {fault: capability.WebBadURL},
		"http://[fe80::1%25eth0]/":               {fault: capability.WebBadURL},
		"http://public.test:22/":                 {fault: capability.WebPort},
		"http://public.test:8080/":               {fault: capability.WebPort},
		"https://public.test:80/":                {fault: capability.WebTLS},
		"https://public.test/":                   {fault: capability.WebTLS}, // the certificate has another name
		"ftp://public.test/":                     {fault: capability.WebBadURL},
		"file:///etc/passwd":                     {fault: capability.WebBadURL},
		"gopher://public.test/":                  {fault: capability.WebBadURL},
		"unix:///var/run/docker.sock":            {fault: capability.WebBadURL},
		"public.test/":                           {fault: capability.WebBadURL},
	} {
		_, err := fetch(t, f, url)
		if seen := strings.Join(h.requests(), " "); faultOf(err) != want.fault || (err == nil) != (want.fault == "") || seen != want.seen {
			t.Errorf("%s: %v, seen %q, want %q, %q", url, err, seen, want.fault, want.seen)
		}
	}
	for i, private := range privateAddresses {
		literal := private
		if strings.Contains(private, ":") {
			literal = "[" + private + "]"
		}
		for _, url := range []string{fmt.Sprintf("http://private%d.test/", i), fmt.Sprintf("https://private%d.test/", i), "http://" + literal + "/latest/meta-data/"} {
			want := capability.WebAddress
			if strings.Contains(url, "[::ffff:") {
				want = capability.WebBadURL
			}
			if _, err := fetch(t, f, url); faultOf(err) != want {
				t.Errorf("%s, which is %s: %v", url, private, err)
			}
		}
	}
	// The robots.txt gets the first answer. Its connection must not be used for the page: the answer of it says so.
	f.transport.(*http.Transport).DisableKeepAlives = true //nolint:forcetypeassert // newFetcher makes it
	if _, err := fetch(t, f, "http://rebind.test/"); faultOf(err) != capability.WebAddress {
		t.Errorf("rebinding: %v", err)
	}
	if seen := h.requests(); len(seen) > 0 || len(h.arrived) > 0 {
		t.Errorf("seen %q; arrived at the forbidden listener: %q", seen, h.arrived)
	}
}

// privateAddresses are addresses that are not of the public web.
var privateAddresses = []string{
	"127.0.0.2", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.170.2",
	"100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.250", "240.0.0.1",
	"255.255.255.255", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1",
	"::", "::1", "::ffff:127.0.0.2", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
	"64:ff9b:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2001::1", "2001:db8::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254",
	"ff02::1", "100::1", "3fff::1", "5f00::1",
}

// TestRedirects: redirects lead only to pages of the same host, over steps that are each checked.
func TestRedirects(t *testing.T) {
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header()["Location"] = []string{to}
			w.WriteHeader(http.StatusFound)
			return
		}
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/chain/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/chain/%d", n-1), http.StatusTemporaryRedirect)
			return
		}
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/loop1":
			http.Redirect(w, r, "/loop2", http.StatusFound)
		case "/loop2":
			http.Redirect(w, r, "/loop1", http.StatusFound)
		case "/long":
			http.Redirect(w, r, "/"+strings.Repeat("x", 3000), http.StatusFound)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/refresh":
			w.Header().Set("Refresh", "0; url=http://169.254.169.254/")
			_, _ = io.WriteString(w, `<meta http-equiv=refresh content="0; url=http://169.254.169.254/"><p>stays`)
		default:
			_, _ = io.WriteString(w, "hello")
		}
	})
	h.name("public.test", public)
	h.name("other.test", public)
	h.name("example.com", public)
	f := h.fetcher()
	for _, c := range []struct {
		from, to string
		fault    capability.WebFault
		moved    string
		seen     int
	}{
		{from: "http://public.test/", to: "/page", seen: 2},
		{from: "http://public.test/", to: "page?a=b#c", seen: 2},
		{from: "http://public.test/", to: "//public.test/page", seen: 2},
		{from: "http://public.test/", to: "HTTP://PUBLIC.test.:80/page", seen: 2},
		{from: "http://example.com/", to: "https://example.com/page", seen: 2},
		{from: "https://example.com/", to: "http://example.com/page", fault: capability.WebRedirect, seen: 1},
		{from: "https://example.com/", to: "http://other.test/", fault: capability.WebRedirect, seen: 1},
		{from: "http://public.test/", to: "http://other.test/a?b=c", moved: "http://other.test/a?b=c", seen: 1},
		{from: "http://public.test/", to: "//other.test", moved: "http://other.test/", seen: 1},
		{from: "http://public.test/", to: "https://sub.public.test/", moved: "https://sub.public.test/", seen: 1},
		{from: "http://public.test/", to: "http://localhost/", moved: "http://localhost/", seen: 1},
		{from: "http://public.test/", to: "http://127.0.0.2/", fault: capability.WebAddress, seen: 1},
		{from: "http://public.test/", to: "http://169.254.169.254/latest/meta-data/", fault: capability.WebAddress, seen: 1},
		{from: "http://public.test/", to: "http://[::1]/", fault: capability.WebAddress, seen: 1},
		{from: "http://public.test/", to: "http://[::ffff:169.254.169.254]/", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: "http://[64:ff9b::a9fe:a9fe]/", fault: capability.WebAddress, seen: 1},
		{from: "http://public.test/", to: "http://2852039166/", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: "http://0xa9fea9fe/", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: "http://public.test:22/", fault: capability.WebPort, seen: 1},
		{from: "http://public.test/", to: "http://user:pass@public.test/", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: "http://public.test@127.0.0.2/", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: "file:///etc/passwd", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: "gopher://127.0.0.2:6379/_FLUSHALL", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: "javascript:alert(1)", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: "data:text/html,x", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/", to: `/\169.254.169.254/`, seen: 2}, // a path, whose backslash is escaped
		{from: "http://public.test/", to: `http:\\169.254.169.254/`, fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/long", fault: capability.WebBadURL, seen: 1},
		{from: "http://public.test/nowhere", fault: capability.WebRedirect, seen: 1},
		{from: "http://public.test/loop", fault: capability.WebRedirect, seen: 1},
		{from: "http://public.test/loop1", fault: capability.WebRedirect, seen: 2},
		{from: "http://public.test/chain/5", seen: 6},
		{from: "http://public.test/chain/6", fault: capability.WebRedirect, seen: 6},
		{from: "http://public.test/chain/1000", fault: capability.WebRedirect, seen: 6},
		{from: "http://public.test/refresh", seen: 1},
	} {
		url := c.from
		if c.to != "" {
			url += "?to=" + escape(c.to)
		}
		page, err := fetch(t, f, url)
		seen := h.requests()
		if faultOf(err) != c.fault || (err == nil) != (c.fault == "") || page.MovedTo != c.moved || len(seen) != c.seen {
			t.Errorf("%s to %.60s: %+v, %v, seen %q", c.from, c.to, page, err, seen)
		}
		if slices.ContainsFunc(seen, func(s string) bool {
			return !strings.HasPrefix(s, "public.test/") && !strings.HasPrefix(s, "example.com/")
		}) {
			t.Errorf("%s to %.60s: seen %q", c.from, c.to, seen)
		}
	}
	if len(h.arrived) > 0 {
		t.Errorf("arrived at the forbidden listener: %q", h.arrived)
	}
}

// escape escapes the value of a query.
func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// TestKeptConnections (fault 57): an open connection serves no other name, although its certificate has that name, and a server cannot send
// later requests elsewhere.
func TestKeptConnections(t *testing.T) {
	h := newHostile(t, nil)
	var seen []string
	h.tls.Close()
	h.tls = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h2="other.example.com:443", h3=":443"`)
		seen = append(seen, r.Proto+" "+r.Host+r.URL.Path)
		if r.URL.Path == robotsPath {
			http.NotFound(w, r)
		}
	}))
	h.tls.EnableHTTP2 = true
	h.tls.StartTLS()
	h.name("example.com", public)
	h.name("other.example.com", "10.0.0.1")
	f := h.fetcher()
	for _, c := range []struct {
		url   string
		fault capability.WebFault
	}{{"https://example.com/a", ""}, {"https://other.example.com/", capability.WebAddress}, {"https://example.com/b", ""}} {
		if _, err := fetch(t, f, c.url); faultOf(err) != c.fault || (err == nil) != (c.fault == "") {
			t.Errorf("%s: %v", c.url, err)
		}
	}
	if want := []string{"HTTP/2.0 example.com/robots.txt", "HTTP/2.0 example.com/a", "HTTP/2.0 example.com/b"}; !slices.Equal(seen, want) || len(h.arrived) > 0 {
		t.Errorf("seen %q; arrived at the forbidden listener: %q", seen, h.arrived)
	}
}

// TestShippedFetcher: the fetcher of a worker reaches no server on its machine, by any name, and asks no proxy.
func TestShippedFetcher(t *testing.T) {
	h := newHostile(t, func(http.ResponseWriter, *http.Request) {})
	port := uint16(h.http.Listener.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert,gosec // a TCP listener
	f := NewFetcher(Options{Ports: []uint16{80, port}})
	defer f.Close()
	// net/http reads the variables of a proxy once in a process, so a test cannot set them.
	if f.transport.(*http.Transport).Proxy != nil { //nolint:forcetypeassert // newFetcher makes it
		t.Error("the fetcher asks a proxy")
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		if _, err := fetch(t, f, "http://"+host+":"+strconv.Itoa(int(port))+"/"); faultOf(err) != capability.WebAddress && (host != "localhost" || faultOf(err) != capability.WebUnreachable) {
			t.Errorf("%s: %v", host, err)
		}
	}
	// The dialer checks the address of the socket once more, should the guard not have.
	if conn, err := f.guard.dial(t.Context(), "tcp", h.http.Listener.Addr().String()); err == nil || faultOf(err) != capability.WebAddress {
		t.Errorf("the dialer: %v, %v", conn, err)
	}
	if len(h.seen) > 0 {
		t.Errorf("seen %q", h.seen)
	}
}
