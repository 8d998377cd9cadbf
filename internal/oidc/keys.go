package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/pawl-run/pawl/toolspec/errs"
)

// pace says how often an issuer is asked, and how long its keys count.
type pace struct {
	// keep is how long keys count after the issuer has sent them. A key that the issuer withdraws can still count for this time.
	keep time.Duration
	// every is the least time between two requests because of unknown keys, and retry the least time after a request without an
	// answer.
	every, retry time.Duration
	// fetch bounds a request to the issuer, and wait bounds how long a decision waits for that
	// request. A later answer serves the next decision.
	fetch, wait time.Duration
}

func defaultPace() pace {
	return pace{keep: 10 * time.Minute, every: 10 * time.Second, retry: time.Second, fetch: 5 * time.Second, wait: 1200 * time.Millisecond}
}

// keySet has the keys that an issuer has sent last. It may be used by several goroutines.
type keySet struct {
	name, issuer string
	client       *http.Client
	pace         pace
	group        singleflight.Group

	mu   sync.Mutex
	keys []jose.JSONWebKey
	// named is the time of the request that gave the keys, and asked the time of the last request. failed says that the last
	// request had no answer.
	named, asked time.Time
	failed       bool
}

// find returns the keys with an id, or all keys if id is empty. If no known key has the id, find
// asks the issuer, but not for every such token: while early gives a reason, find returns that
// reason as an error. fresh says that the issuer was asked for this token.
func (s *keySet) find(ctx context.Context, id, alg string) (found []jose.JSONWebKey, fresh bool, err error) {
	if found = s.known(id, alg); len(found) > 0 {
		return found, false, nil
	}
	found, err = s.ask(ctx, id, alg)
	return found, true, err
}

// ask asks the issuer for its keys, and returns the keys with an id, as find does.
func (s *keySet) ask(ctx context.Context, id, alg string) ([]jose.JSONWebKey, error) {
	if state := s.early(); state != "" {
		return nil, s.away(state)
	}
	answer := s.group.DoChan("", func() (any, error) {
		// Other callers may wait for this request too, so it does not end with the context of the first caller.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.pace.fetch)
		defer cancel()
		return nil, s.renew(ctx)
	})
	select {
	case <-ctx.Done():
		return nil, s.away("no answer in time")
	case <-time.After(s.pace.wait):
		return nil, s.away("no answer in time")
	case result := <-answer:
		if result.Err != nil {
			return nil, s.away(result.Err.Error())
		}
	}
	return s.known(id, alg), nil
}

// early returns why the issuer must not be asked now, or "".
func (s *keySet) early() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.asked.IsZero():
		return ""
	case s.failed && time.Since(s.asked) < s.pace.retry:
		return "it did not answer a moment ago"
	case !s.failed && time.Since(s.named) < s.pace.keep && time.Since(s.asked) < s.pace.every:
		return "it was asked for another key a moment ago"
	}
	return ""
}

func (s *keySet) renew(ctx context.Context) error {
	began := time.Now()
	keys, err := fetch(ctx, s.client, s.issuer)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err != nil
	if s.asked = began; s.failed {
		// Pause after a slow failure too, so that a failing issuer is not asked again at once.
		s.asked = time.Now()
		return err
	}
	s.keys, s.named = keys, began
	return nil
}

// known returns the keys with an id that still count.
func (s *keySet) known(id, alg string) (found []jose.JSONWebKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.named.IsZero() || time.Since(s.named) >= s.pace.keep {
		return nil
	}
	for _, key := range s.keys {
		if (id == "" || key.KeyID == id) && (key.Algorithm == "" || key.Algorithm == alg) {
			found = append(found, key)
		}
	}
	return found
}

func (s *keySet) away(state string) error {
	return errs.Transient(&Error{Issuer: s.name, State: state})
}

// usable reports whether signatures may be verified with a key.
func usable(k jose.JSONWebKey) bool {
	if k.Use != "" && k.Use != "sig" || !k.Valid() {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return key.Size() >= minRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}
