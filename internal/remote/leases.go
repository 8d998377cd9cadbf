package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec/remotetool"
)

const (
	// redeemPath is the path at which remote workers redeem leases.
	redeemPath = "/v1/leases/redeem"
	maxRedeem  = 4 << 10
	// redeemTime bounds a request to redeem a lease.
	redeemTime = 10 * time.Second
)

// Leases gives the credentials of connections to remote workers. A lease is for one attempt at one worker, and can be redeemed
// once, until the attempt ends. Leases are in the memory of this process only.
type Leases struct {
	keys Keys
	url  string

	mu   sync.Mutex
	open map[string]lease
}

type lease struct {
	ctx    context.Context
	keyID  string
	redeem remotetool.Redeem
}

// Listen serves leases at a loopback address until stop is called. public is the address at which remote workers reach it, such as
// https://pawl-1.example.com; "" means the loopback address.
func Listen(keys Keys, address, public string) (l *Leases, stop func(), err error) {
	if public != "" {
		u, err := url.Parse(public)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" || u.Scheme != "https" {
			return nil, nil, fmt.Errorf("%q is no address such as https://pawl-1.example.com", public)
		}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	if at, err := netip.ParseAddrPort(listener.Addr().String()); err != nil || !at.Addr().IsLoopback() {
		_ = listener.Close()
		return nil, nil, fmt.Errorf("%s is no loopback address: credentials are sent in clear there", address)
	}
	if public == "" {
		public = "http://" + listener.Addr().String()
	}
	l = &Leases{keys: keys, url: strings.TrimRight(public, "/") + redeemPath, open: map[string]lease{}}
	server := &http.Server{Handler: l, ReadTimeout: redeemTime, WriteTimeout: redeemTime, IdleTimeout: redeemTime, MaxHeaderBytes: maxHeader}
	go func() { _ = server.Serve(listener) }()
	return l, func() { _ = server.Close() }, nil
}

// Open returns a new lease for the worker. It ends when ctx ends, or when end is called.
func (l *Leases) Open(ctx context.Context, to remotetool.Worker, redeem remotetool.Redeem) (opened remotetool.RequestLease, end func()) {
	id := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[id] = lease{ctx, to.Key, redeem}
	return remotetool.RequestLease{ID: id, URL: l.url}, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, id)
	}
}

// take returns an open lease of the key, and ends it.
func (l *Leases) take(id, keyID string) (lease, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.open[id]
	if !ok || found.keyID != keyID || found.ctx.Err() != nil {
		return lease{}, false
	}
	delete(l.open, id)
	return found, true
}

// ServeHTTP redeems a lease. All refusals look the same.
func (l *Leases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRedeem+1))
	answer, to, ok := []byte(nil), signed{}, false
	if err == nil && len(body) <= maxRedeem && r.Method == http.MethodPost && r.URL.Path == redeemPath {
		answer, to, ok = l.redeem(r, body)
	}
	defer clear(answer)
	if !ok || signAnswer(w.Header(), answer, to, time.Now()) != nil {
		http.Error(w, "there is no such lease", http.StatusNotFound)
		return
	}
	_, _ = w.Write(answer)
}

// redeem returns the credential of a lease as JSON.
func (l *Leases) redeem(r *http.Request, body []byte) (answer []byte, to signed, ok bool) {
	to, err := l.keys.verifyRequest(r, body, redeemTag, time.Now())
	if err != nil {
		return nil, to, false
	}
	var request struct {
		Lease string `json:"lease"`
	}
	if json.Unmarshal(body, &request) != nil {
		return nil, to, false
	}
	found, ok := l.take(request.Lease, to.keyID)
	if !ok {
		return nil, to, false
	}
	baseURL, secrets, err := found.redeem(found.ctx)
	if err != nil {
		return nil, to, false
	}
	headers := map[string]string{}
	for name, secret := range secrets {
		headers[name] = string(secret.Reveal())
	}
	answer, err = json.Marshal(struct {
		BaseURL string            `json:"baseUrl"`
		Headers map[string]string `json:"headers"`
	}{baseURL, headers})
	return answer, to, err == nil
}
