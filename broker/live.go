package broker

import (
	"fmt"
	"iter"
	"sync"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/lru"
)

// maxLive bounds the secrets that a worker recognises, beside those that are in
// use: the one that was leased longest ago goes first.
const maxLive = 4096

// live recognises what was leased, so that nobody lets it out: during the attempt
// and for long after, for a tool that was left behind may still speak.
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

// public are parts of credentials that are no secret.
var public = map[string]bool{FieldUsername: true, FieldClientID: true, "key_id": true}

// named are the secrets in a credential, each by a name that may be shown. They
// are good until the next one.
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

// know recognises the parts of a credential from now on. What is too short to be
// told from other text is left out.
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
