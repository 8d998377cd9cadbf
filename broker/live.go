package broker

import (
	"fmt"
	"iter"
	"sync"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/lru"
)

// maxLive bounds the secrets that a worker recognises. When it is exceeded, the secret that was
// leased longest ago is dropped.
const maxLive = 4096

// live registers leased secrets in the set for redaction. They stay registered after the
// attempt, because a tool that outlives its attempt may still output them.
type live struct {
	set *fingerprint.Set

	mu    sync.Mutex
	known *lru.Cache[string, struct{}]
}

func newLive(set *fingerprint.Set) *live {
	if set == nil {
		set = &fingerprint.Set{}
	}
	return &live{set: set, known: lru.New(maxLive, func(label string, _ struct{}) { set.Remove(label) })}
}

// public are the parts of credentials that are not secret.
var public = map[string]bool{FieldUsername: true, FieldClientID: true, "key_id": true}

// named returns the secrets in a credential, each with a label that may be shown. A value is
// valid only until the iteration continues.
func named(at Binding, c Credential) iter.Seq2[string, []byte] {
	label := func(part string) string {
		return fmt.Sprintf("connection %s/%s version %d %s", at.TenantID, at.ConnectionID, at.Version, part)
	}
	return func(yield func(string, []byte) bool) {
		for _, name := range c.Names() {
			if !public[name] && !yield(label(name), c.Get(name).Reveal()) {
				return
			}
		}
		if name, word := c.Get(FieldUsername).Reveal(), c.Get(FieldPassword).Reveal(); len(word) > 0 {
			pair := append(append(append([]byte(nil), name...), ':'), word...)
			defer clear(pair)
			yield(label("username:password"), pair)
		}
	}
}

// know registers the secret parts of a credential. It leaves out parts that are too short to be
// distinguished from other text.
func (l *live) know(at Binding, c Credential) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for label, secret := range named(at, c) {
		if _, known := l.known.Get(label); known {
			continue
		}
		if l.set.Add(label, secret) == nil {
			l.known.GetOrAdd(label, func() struct{} { return struct{}{} })
		}
	}
}
