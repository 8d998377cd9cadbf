package workerkeytest

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/workerkey"
)

// Store keeps keys; the zero value has none yet. It behaves as the database does,
// and may be used by several rings.
type Store struct {
	mu   sync.Mutex
	keys []made
	// Away, if it is not nil, is the error that the store returns.
	Away error
	// Asked counts how often keys were asked for.
	Asked int
}

type made struct {
	workerkey.Key
	at time.Time
}

// WorkerKeys returns the keys. It makes a key if no key signs any more.
func (s *Store) WorkerKeys(context.Context) ([]workerkey.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Asked++; s.Away != nil {
		return nil, s.Away
	}
	now := time.Now()
	if n := len(s.keys); n == 0 || now.Sub(s.keys[n-1].at) >= workerkey.Signs {
		secret := make([]byte, workerkey.Size)
		_, _ = rand.Read(secret) // it never fails
		s.keys = append(s.keys, made{workerkey.Key{ID: int64(n + 1), Secret: secret}, now})
	}
	var keys []workerkey.Key
	for i := len(s.keys) - 1; i >= 0; i-- {
		k := s.keys[i].Key
		if k.Age = now.Sub(s.keys[i].at); k.Age < workerkey.Kept {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// New makes a ring with a store of its own.
func New() *workerkey.Ring { return workerkey.New(&Store{}) }
