package pawltest

import (
	"sync"
	"testing"
)

// TestPersonHasOneKey: decisions of one person at the same time are signed with the same key.
func TestPersonHasOneKey(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	var keys [8]string
	var signing sync.WaitGroup
	for i := range keys {
		signing.Go(func() { keys[i] = s.keyOf(Tenant, "user:ann").Key().ID() })
	}
	signing.Wait()
	for i, key := range keys {
		if key != keys[0] {
			t.Errorf("the key %d is %s, want %s", i, key, keys[0])
		}
	}
}
