package broker

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestOnceMore: a request that is refused with 401 is sent once more with another token, where nothing speaks against sending it twice.
func TestOnceMore(t *testing.T) {
	const other = "tok-8Zx1Cv4Bn7Mq2WeR"
	reader := func(r *http.Request) { r.Body, r.GetBody = io.NopCloser(strings.NewReader("body")), nil }
	for name, tc := range map[string]struct {
		method     string
		body       string
		repeatable bool
		change     func(*http.Request)
		kind       Kind
		// refuses is how many requests the service refuses, and cannot that there is no other token.
		refuses int
		cannot  bool
		want    int // requests of the service,
		renewed int
		status  int
	}{
		"a read":                     {method: http.MethodGet, refuses: 1, want: 2, renewed: 1, status: 200},
		"a head":                     {method: http.MethodHead, refuses: 1, want: 2, renewed: 1, status: 200},
		"options":                    {method: http.MethodOptions, refuses: 1, want: 2, renewed: 1, status: 200},
		"taken at once":              {method: http.MethodGet, want: 1, status: 200},
		"refused twice":              {method: http.MethodGet, refuses: 9, want: 2, renewed: 1, status: 401},
		"no other token":             {method: http.MethodGet, refuses: 9, cannot: true, want: 1, renewed: 1, status: 401},
		"a write":                    {method: http.MethodPost, body: "body", refuses: 1, want: 1, status: 401},
		"a deletion":                 {method: http.MethodDelete, refuses: 1, want: 1, status: 401},
		"a write that may repeat":    {method: http.MethodPost, body: "body", repeatable: true, refuses: 1, want: 2, renewed: 1, status: 200},
		"a delete that may repeat":   {method: http.MethodDelete, repeatable: true, refuses: 1, want: 2, renewed: 1, status: 200},
		"a write that says it may":   {method: http.MethodPost, body: "body", change: func(r *http.Request) { r.Header["X-Idempotency-Key"] = []string{} }, refuses: 1, want: 2, renewed: 1, status: 200},
		"a body that is gone":        {method: http.MethodPost, repeatable: true, change: reader, refuses: 1, want: 1, status: 401},
		"a read with a gone body":    {method: http.MethodGet, change: reader, refuses: 1, want: 1, status: 401},
		"a token that never changes": {method: http.MethodGet, kind: Bearer, refuses: 1, want: 1, status: 401},
	} {
		t.Run(name, func(t *testing.T) {
			kind := tc.kind
			w := newWorld(t, func(p *Provider) {
				if kind == "" {
					p.Kind, p.OAuth2 = OAuth, &OAuth2{Flow: ClientCredentials, TokenURL: "https://a.example/token"}
				}
			})
			w.refuses = tc.refuses
			renewals := 0
			w.lease.version, w.lease.repeatable = 1, tc.repeatable
			w.lease.renew = func(_ context.Context, version int) (Credential, int, bool) {
				renewals++
				if version != 1 {
					t.Errorf("version %d is refused", version)
				}
				return credential(map[string]string{FieldAccessToken: other}), 2, !tc.cannot
			}
			client, err := w.lease.For("c1")
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), tc.method, w.own.URL, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if tc.change != nil {
				tc.change(req)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != tc.status || len(w.ownSeen) != tc.want || renewals != tc.renewed {
				t.Errorf("status %d, %d requests, %d other tokens", resp.StatusCode, len(w.ownSeen), renewals)
			}
			if tc.want == 2 {
				if got := w.ownSeen[1].Header.Get("Authorization"); got != "Bearer "+other || w.bodies[1] != tc.body {
					t.Errorf("the second request came with %q and %q", got, w.bodies[1])
				}
			}
			if resp.Request != req || req.Header.Get("Authorization") != "" {
				t.Errorf("the request of the answer is %v", resp.Request.Header)
			}
		})
	}
}

// TestOneRenewalOfALease: requests of one attempt that are refused at the same time ask for one token, and none after its end.
func TestOneRenewalOfALease(t *testing.T) {
	w := newWorld(t, func(p *Provider) {
		p.Kind, p.OAuth2 = OAuth, &OAuth2{Flow: ClientCredentials, TokenURL: "https://a.example/token"}
	})
	renewals := 0
	w.lease.version = 1
	w.lease.renew = func(context.Context, int) (Credential, int, bool) {
		renewals++
		return credential(map[string]string{FieldAccessToken: token}), 2, true
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if !w.lease.renewed(t.Context(), 1) {
				t.Error("no other token")
			}
		})
	}
	all.Wait()
	if renewals != 1 {
		t.Errorf("%d other tokens", renewals)
	}
	var late Secret
	w.lease.renew = func(context.Context, int) (Credential, int, bool) {
		late = capability.NewSecret([]byte(token))
		w.lease.Close()
		return NewCredential(map[string]Secret{FieldAccessToken: late}), 3, true
	}
	if w.lease.renewed(t.Context(), 2) || late.Reveal() != nil {
		t.Error("a token is left over after the end of the attempt")
	}
	if w.lease.renewed(t.Context(), 1) {
		t.Error("another token after the end of the attempt")
	}
}
