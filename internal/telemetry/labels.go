package telemetry

import (
	"sync"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// maxTools bounds the values of the label tool, beside the two below.
	maxTools = 1000
	// maxTimedTools bounds them for histograms, which have many series each.
	maxTimedTools = 200
	// otherTool stands for every tool after the first maxTools that this worker has called, and for the tools that it does not have.
	otherTool = "other"
	// tenantTool stands for every tool that is registered for a tenant: the id of such a tool names its tenant.
	tenantTool = "tenant"
)

// toolLabels turns ids of tools into values of the label tool. Callers choose the id in a call, so only ids of tools that the
// worker has count.
type toolLabels struct {
	most int
	mu   sync.RWMutex
	has  func(toolID string) bool
	seen map[string]struct{}
}

func newToolLabels(most int) *toolLabels {
	return &toolLabels{most: most, has: func(string) bool { return false }, seen: map[string]struct{}{}}
}

// know sets which tools the worker has.
func (l *toolLabels) know(has func(toolID string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.has = has
}

func (l *toolLabels) label(toolID string) string {
	if toolspec.TenantOfTool(toolID) != "" {
		return tenantTool
	}
	l.mu.RLock()
	_, seen := l.seen[toolID]
	full, has := len(l.seen) >= l.most, l.has
	l.mu.RUnlock()
	switch {
	case seen:
		return toolID
	case full || toolID == "" || !has(toolID):
		return otherTool
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) >= l.most {
		return otherTool
	}
	l.seen[toolID] = struct{}{}
	return toolID
}
