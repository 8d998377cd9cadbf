package web

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestRawServers: servers that do not speak HTTP as they should end a fetch with a fault, and leave nothing open.
func TestRawServers(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	endless := func(w io.Writer, text string) {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	drip := func(w io.Writer, text string) {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // this is what the server of the test is for
		}
	}
	for name, c := range map[string]struct {
		serve func(net.Conn)
		fault capability.WebFault
		cut   bool
	}{
		"endless body": {func(c net.Conn) { endless(c, head+"\r\n"+strings.Repeat("x", 1<<16)) }, "", true},
		"endless chunks": {func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n")
			endless(c, "1000\r\n"+strings.Repeat("x", 4096)+"\r\n")
		}, "", true},
		"endless headers":  {func(c net.Conn) { _, _ = io.WriteString(c, head); endless(c, "X-A: "+strings.Repeat("a", 1000)+"\r\n") }, capability.WebTooLarge, false},
		"endless header":   {func(c net.Conn) { _, _ = io.WriteString(c, head+"X-A: "); endless(c, "aaaaaaaaaaaaaaaa") }, capability.WebTooLarge, false},
		"endless line":     {func(c net.Conn) { endless(c, "HTTP/1.1 200 ") }, capability.WebTooLarge, false},
		"endless interim":  {func(c net.Conn) { endless(c, "HTTP/1.1 103 Early Hints\r\n\r\n") }, capability.WebTooLarge, false},
		"dripping headers": {func(c net.Conn) { _, _ = io.WriteString(c, head); drip(c, "X-A: a\r\n") }, capability.WebTime, false},
		"dripping body":    {func(c net.Conn) { _, _ = io.WriteString(c, head+"\r\n"); drip(c, "x") }, capability.WebTime, false},
		"silence":          {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, capability.WebTime, false},
		"closed at once":   {func(net.Conn) {}, capability.WebUnreachable, false},
		"no HTTP":          {func(c net.Conn) { _, _ = io.WriteString(c, "220 mail.test ESMTP\r\n") }, capability.WebUnreachable, false},
		"too short":        {func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Length: 100\r\n\r\nshort") }, capability.WebContent, false},
		"too long":         {func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Length: 5\r\n\r\nshort and more") }, "", false},
		"bad length":       {func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Length: -5\r\n\r\nshort") }, capability.WebUnreachable, false},
		"two lengths":      {func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Length: 5\r\nContent-Length: 6\r\n\r\nshort") }, capability.WebUnreachable, false},
		"bad chunk":        {func(c net.Conn) { _, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n") }, capability.WebUnreachable, false},
		"bad gzip":         {func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Encoding: gzip\r\n\r\nnot gzip at all") }, capability.WebContent, false},
		"short gzip": {func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00")
		}, capability.WebContent, false},
		"reset": {func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 100\r\n\r\nshort")
			_ = c.(*net.TCPConn).SetLinger(0) //nolint:forcetypeassert // a TCP listener
		}, capability.WebUnreachable, false},
		"brotli":           {func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Encoding: br\r\n\r\nxxxx") }, capability.WebContent, false},
		"two compressions": {func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Encoding: gzip, gzip\r\n\r\nxxxx") }, capability.WebContent, false},
		"an error":         {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 503 secret words\r\n\r\nsecret body") }, capability.WebStatus, false},
		"a strange status": {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 999 x\r\n\r\n") }, capability.WebStatus, false},
		"not modified":     {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 304 x\r\n\r\n") }, capability.WebStatus, false},
		"another protocol": {func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 x\r\nUpgrade: ws\r\nConnection: upgrade\r\n\r\n")
		}, capability.WebStatus, false},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", public+":0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer func() { _ = conn.Close() }()
						line, _ := bufio.NewReader(conn).ReadString('\n')
						if strings.Contains(line, robotsPath) {
							_, _ = io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
							return
						}
						c.serve(conn)
					}()
				}
			}()
			h := newHostile(t, nil)
			h.name("public.test", public)
			f := h.fetcher()
			f.guard.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
			}
			if c.fault == capability.WebTime {
				f.fetchTime = short
			}
			page, err := fetch(t, f, "http://public.test/")
			if faultOf(err) != c.fault || (err == nil) != (c.fault == "") || page.Truncated != c.cut {
				t.Errorf("%v, truncated %v, %d bytes", err, page.Truncated, len(page.Text))
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error repeats the server: %v", err)
			}
		})
	}
}

// TestRoom: few pages are fetched at the same time, of a tenant and of a host fewer, and each gives its room back.
func TestRoom(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	h := newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			http.NotFound(w, r)
		case "/slow":
			began <- struct{}{}
			<-release
		}
	})
	for _, host := range []string{"one.test", "two.test", "three.test"} {
		h.name(host, public)
	}
	f := h.fetcher()
	of := func(tenant, url string) capability.WebRequest {
		return capability.WebRequest{URL: url, TenantID: tenant, Form: capability.WebSource}
	}
	for range maxFetches + 1 {
		if _, err := f.Fetch(t.Context(), of("a", "http://one.test/missing")); faultOf(err) != capability.WebStatus {
			t.Fatal(err)
		}
	}
	var held sync.WaitGroup
	for _, c := range []struct{ tenant, slow, refused, fetched string }{
		{"a", "one.test", "a one.test", "b one.test"},
		{"a", "two.test", "a three.test", "b three.test"},
		{"b", "one.test", "c one.test", "c three.test"},
		{"b", "two.test", "c three.test", ""},
	} {
		f.fetchTime = time.Minute
		for range 2 {
			held.Go(func() { _, _ = f.Fetch(t.Context(), of(c.tenant, "http://"+c.slow+"/slow?"+rand.Text())) })
			<-began
		}
		if tenant, host, ok := strings.Cut(c.fetched, " "); ok {
			if _, err := f.Fetch(t.Context(), of(tenant, "http://"+host+"/?"+rand.Text())); err != nil {
				t.Errorf("%s has no room beside %s for %s: %v", c.fetched, c.slow, c.tenant, err)
			}
		}
		f.fetchTime = short
		tenant, host, _ := strings.Cut(c.refused, " ")
		if _, err := f.Fetch(t.Context(), of(tenant, "http://"+host+"/?"+rand.Text())); faultOf(err) != capability.WebTime {
			t.Errorf("%s has room beside %s for %s: %v", c.refused, c.slow, c.tenant, err)
		}
	}
	close(release)
	held.Wait()
	f.fetchTime = time.Minute
	if _, err := f.Fetch(t.Context(), of("a", "http://one.test/")); err != nil {
		t.Errorf("after the slow fetches: %v", err)
	}
}

// TestCancel: a fetch ends with the error of its context.
func TestCancel(t *testing.T) {
	h := newHostile(t, nil)
	h.name("public.test", public)
	f := h.fetcher()
	ctx, cancel := context.WithCancel(t.Context())
	f.guard.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := f.Fetch(ctx, capability.WebRequest{URL: "http://public.test/"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestConnectTime: net/http dials with a context that does not end with the fetch, so the guard ends lookups and dials itself. It dials few addresses.
func TestConnectTime(t *testing.T) {
	h := newHostile(t, nil)
	g := h.fetcher().guard
	g.connectTime = short
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	g.lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) { return nil, wait(ctx) }
	if _, err := g.DialContext(t.Context(), "tcp", "public.test:80"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a lookup that hangs: %v", err)
	}
	g.lookup = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr(public)}, nil
	}
	g.dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, wait(ctx) }
	if _, err := g.DialContext(t.Context(), "tcp", "public.test:80"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a dial that hangs: %v", err)
	}
	dials, last := 0, public
	g.connectTime = connectTime
	g.lookup = func(context.Context, string) ([]netip.Addr, error) {
		return append(slices.Repeat([]netip.Addr{netip.MustParseAddr(public)}, 1000), netip.MustParseAddr(last)), nil
	}
	g.dial = func(context.Context, string, string) (net.Conn, error) { dials++; return nil, io.EOF }
	if _, err := g.DialContext(t.Context(), "tcp", "public.test:80"); !errors.Is(err, io.EOF) || dials != maxDials {
		t.Errorf("%d dials, %v", dials, err)
	}
	last = "10.0.0.1"
	if _, err := g.DialContext(t.Context(), "tcp", "public.test:80"); faultOf(err) != capability.WebAddress || dials != maxDials {
		t.Errorf("a private address at the end: %d dials, %v", dials, err)
	}
}
