package runhttp

import "sync"

// places limits how many streams are open, in all and for each viewer.
type places struct {
	max, maxOfViewer int

	mu   sync.Mutex
	open int
	of   map[viewerKey]int
}

// viewerKey names a viewer. The same identity in another tenant is another viewer.
type viewerKey struct{ tenantID, identity string }

// take takes a place for a stream. ofViewer says that the limit of the viewer is reached, and not the limit
// of the handler.
func (p *places) take(key viewerKey) (taken, ofViewer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.of[key] >= p.maxOfViewer:
		return false, true
	case p.open >= p.max:
		return false, false
	}
	p.open++
	p.of[key]++
	return true, false
}

func (p *places) giveBack(key viewerKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	if p.of[key]--; p.of[key] == 0 {
		delete(p.of, key)
	}
}
