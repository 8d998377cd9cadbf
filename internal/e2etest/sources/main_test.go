// Package sources tests tools that appear and disappear while a worker runs.
package sources

import (
	"context"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
	"github.com/pawl-run/pawl/toolspec/source/sourcetest"
)

func TestMain(m *testing.M) { e2etest.Main(m, nil) }

// shelf is an extension whose tools a test can change.
type shelf struct {
	name string

	mu      sync.Mutex
	now     source.Offer
	changed chan struct{}
	fails   chan func() error
}

func newShelf(name string, tools ...toolspec.Tool) *shelf {
	return &shelf{name: name, now: source.Offer{Tools: tools}, changed: make(chan struct{}, 1), fails: make(chan func() error)}
}

func (s *shelf) Info() source.Info { return source.Info{Kind: source.Extension, Name: s.name} }

func (s *shelf) Run(ctx context.Context, offer func(source.Offer)) error {
	for {
		s.mu.Lock()
		now := s.now
		s.mu.Unlock()
		offer(now)
		select {
		case <-ctx.Done():
			return nil
		case <-s.changed:
		case fail := <-s.fails:
			return fail()
		}
	}
}

// put changes the tools of the shelf.
func (s *shelf) put(tools ...toolspec.Tool) {
	s.mu.Lock()
	s.now = source.Offer{Tools: tools}
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func TestShelf(t *testing.T) {
	sourcetest.Run(t, func(*testing.T) source.Source {
		s := newShelf("shelf", e2etest.Tool("test__a", e2etest.Echo))
		s.put(e2etest.Tool("test__a", e2etest.Echo), e2etest.Tool("test__b", e2etest.Echo))
		return s
	})
}
