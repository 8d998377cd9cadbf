package telemetry

import (
	"maps"
	"slices"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// maxTools bounds the values of the label tool, besides other and tenantTool.
	maxTools = 1000
	// maxTimedTools bounds these values for histograms, which have many series each.
	maxTimedTools = 200
	// other stands for every tool after the first maxTools that this worker has called, for the tools that it does not have, and for types
	// of workflows and activities that it does not have.
	other = "other"
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

func newToolLabels(limit int) *toolLabels {
	return &toolLabels{most: limit, has: func(string) bool { return false }, seen: map[string]struct{}{}}
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
		return other
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) >= l.most {
		return other
	}
	l.seen[toolID] = struct{}{}
	return toolID
}

// typed is the metrics of Temporal's SDK without strange types. Every program that can start a workflow chooses its type, and the SDK makes a
// label of the type before it looks whether the worker has such a workflow.
type typed struct {
	types []string
	client.MetricsHandler
}

// WithTags implements client.MetricsHandler.
func (h typed) WithTags(tags map[string]string) client.MetricsHandler {
	tags = maps.Clone(tags)
	for _, key := range []string{"workflow_type", "activity_type"} {
		// Without a type, the SDK says none.
		if v, ok := tags[key]; ok && v != none && !slices.Contains(h.types, v) {
			tags[key] = other
		}
	}
	return typed{h.types, h.MetricsHandler.WithTags(tags)}
}
