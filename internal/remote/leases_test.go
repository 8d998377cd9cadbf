package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/remotetool"
)

const canary = "tok_5f0c1d2e3a4b5c6d7e8f"

// redeemed sends a request to redeem a lease, with the parts that change may change, and returns the status and the body.
func redeemed(t *testing.T, lease remotetool.RequestLease, change func(r *http.Request, key *string, body *[]byte)) (status int, answer string, err error) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"lease": lease.ID})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, lease.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	key := secret
	sent := body
	if change != nil {
		change(r, &key, &sent)
	}
	signature, err := signAs(r.Header, redeemTag, r.URL, body, keyID, []byte(key), time.Now(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if late, ok := r.Context().Value(lateKey{}).(time.Time); ok {
		if signature, err = signAs(r.Header, redeemTag, r.URL, body, keyID, []byte(key), late, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), verifyAnswer(resp.StatusCode, resp.Header, text, keyID, []byte(key), signature)
}

type lateKey struct{}

func credential(context.Context) (string, map[string]capability.Secret, error) {
	return "https://api.example.com", map[string]capability.Secret{"Authorization": capability.NewSecret([]byte("Bearer " + canary))}, nil
}

// TestLeases: a lease is redeemed once, by its worker, in its attempt. All refusals are the same and hold nothing.
func TestLeases(t *testing.T) {
	t.Parallel()
	l, stop, err := Listen(testKeys(t), "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	mine := remotetool.Worker{Name: "billing", Key: keyID}

	lease, end := l.Open(t.Context(), mine, credential)
	status, answer, err := redeemed(t, lease, nil)
	if want := `{"baseUrl":"https://api.example.com","headers":{"Authorization":"Bearer ` + canary + `"}}`; status != http.StatusOK || answer != want || err != nil {
		t.Fatalf("%d %s, %v", status, answer, err)
	}
	refused := func(name string, lease remotetool.RequestLease, change func(r *http.Request, key *string, body *[]byte)) {
		t.Helper()
		status, answer, err := redeemed(t, lease, change)
		if status != http.StatusNotFound || answer != "there is no such lease\n" || err == nil {
			t.Errorf("%s: %d %s, %v", name, status, answer, err)
		}
	}
	refused("a second time", lease, nil)
	end()

	lease, end = l.Open(t.Context(), mine, credential)
	defer end()
	for name, change := range map[string]func(r *http.Request, key *string, body *[]byte){
		"another key":    func(_ *http.Request, key *string, _ *[]byte) { *key = strings.Repeat("x", 32) },
		"a changed body": func(_ *http.Request, _ *string, body *[]byte) { *body = append(*body, ' ') },
		"a large body":   func(_ *http.Request, _ *string, body *[]byte) { *body = bytes.Repeat([]byte(" "), maxRedeem+1) },
		"another path":   func(r *http.Request, _ *string, _ *[]byte) { r.URL.Path = "/v1/leases" },
		"another method": func(r *http.Request, _ *string, _ *[]byte) { r.Method = http.MethodPut },
		"too old": func(r *http.Request, _ *string, _ *[]byte) {
			*r = *r.WithContext(context.WithValue(r.Context(), lateKey{}, time.Now().Add(-2*time.Minute)))
		},
		"from the future": func(r *http.Request, _ *string, _ *[]byte) {
			*r = *r.WithContext(context.WithValue(r.Context(), lateKey{}, time.Now().Add(2*time.Minute)))
		},
	} {
		refused(name, lease, change)
	}
	refused("another id", remotetool.RequestLease{ID: "x", URL: lease.URL}, nil)
	if status, _, err := redeemed(t, lease, nil); status != http.StatusOK || err != nil {
		t.Errorf("a request that was refused has used up the lease: %d, %v", status, err)
	}

	foreign, endForeign := l.Open(t.Context(), remotetool.Worker{Name: "other", Key: "other-1"}, credential)
	defer endForeign()
	refused("the lease of another worker", foreign, nil)
	over, endOver := l.Open(t.Context(), mine, credential)
	endOver()
	refused("the attempt is over", over, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, endCancelled := l.Open(ctx, mine, credential)
	defer endCancelled()
	cancel()
	refused("the attempt is cancelled", cancelled, nil)
	failing, endFailing := l.Open(t.Context(), mine, func(context.Context) (string, map[string]capability.Secret, error) {
		return canary, nil, errors.New(canary)
	})
	defer endFailing()
	refused("no credential", failing, nil)
}

// TestRequestsAreNoRedemptions: a worker cannot be made to sign a redemption, and a request of Pawl is none.
func TestRequestsAreNoRedemptions(t *testing.T) {
	t.Parallel()
	l, stop, err := Listen(testKeys(t), "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	lease, end := l.Open(t.Context(), remotetool.Worker{Key: keyID}, credential)
	defer end()
	body := []byte(`{"lease":"` + lease.ID + `"}`)
	target, err := url.Parse(lease.URL)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	if _, err := sign(header, target, body, keyID, []byte(secret), time.Now(), time.Minute); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, lease.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("the answer is %s", resp.Status)
	}
}

// TestListenRefuses: leases are served at loopback addresses, and found at https.
func TestListenRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"0.0.0.0:0", ""}, {":0", ""}, {"127.0.0.1", ""}, {"127.0.0.1:0", "http://pawl.example.com"}, {"127.0.0.1:0", "https://u:p@pawl.example.com"}, {"127.0.0.1:0", "https://pawl.example.com/x"}} {
		if _, stop, err := Listen(Keys{}, c[0], c[1]); err == nil {
			stop()
			t.Errorf("%q listens", c)
		}
	}
	l, stop, err := Listen(Keys{}, "127.0.0.1:0", "https://pawl.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	lease, end := l.Open(t.Context(), remotetool.Worker{}, credential)
	defer end()
	if lease.URL != "https://pawl.example.com/v1/leases/redeem" {
		t.Error(lease.URL)
	}
}
