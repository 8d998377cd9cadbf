package broker

import (
	"container/list"
	"fmt"
	"sync"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// maxLive bounds the secrets that a worker recognises, beside those that are in
// use: the one that was leased longest ago goes first.
const maxLive = 4096

// live recognises what was leased, so that nobody lets it out: during the attempt
// and for long after, for a tool that was left behind may still speak.
type live struct {
	set *fingerprint.Set

	mu    sync.Mutex
	order *list.List
	at    map[string]*list.Element
}

func newLive(set *fingerprint.Set) *live {
	if set == nil {
		set = &fingerprint.Set{}
	}
	return &live{set: set, order: list.New(), at: map[string]*list.Element{}}
}

// public are parts of credentials that are no secret.
var public = map[string]bool{FieldUsername: true, FieldClientID: true, "key_id": true}

// know recognises the parts of a credential from now on. What is too short to be
// told from other text is left out.
func (l *live) know(at Binding, c Credential) {
	secrets := map[string][]byte{}
	for _, name := range c.Names() {
		if !public[name] {
			secrets[name] = c.Get(name).Reveal()
		}
	}
	if name, word := c.Get(FieldUsername).Reveal(), c.Get(FieldPassword).Reveal(); len(word) > 0 {
		pair := append(append(append([]byte(nil), name...), ':'), word...)
		defer clear(pair)
		secrets["username:password"] = pair
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, secret := range secrets {
		label := fmt.Sprintf("connection %s/%s version %d %s", at.TenantID, at.ConnectionID, at.Version, name)
		if e, known := l.at[label]; known {
			l.order.MoveToFront(e)
			continue
		}
		if l.set.Add(label, secret) != nil {
			continue
		}
		l.at[label] = l.order.PushFront(label)
	}
	for l.order.Len() > maxLive {
		last := l.order.Back()
		label := l.order.Remove(last).(string) //nolint:errcheck,forcetypeassert // the list holds nothing else
		delete(l.at, label)
		l.set.Remove(label)
	}
}
