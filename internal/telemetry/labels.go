package telemetry

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// maxTools bounds the values of the label tool, besides other and tenantTool.
	maxTools = 1000
	// maxTimedTools bounds these values for histograms, which have many series each.
	maxTimedTools = 200
	// maxModels bounds the models in labels, besides other.
	maxModels = 100
	// other stands for every tool after the first maxTools that this worker has called, for the tools that it does not have, and for types
	// of workflows and activities that it does not have.
	other = "other"
	// tenantTool stands for every tool that is registered for a tenant: the id of such a tool names its tenant.
	tenantTool = "tenant"
)

// toolLabels turns ids of tools into values of the label tool. Callers choose the id in a call, so only ids of tools that the
// worker has count.
type toolLabels struct {
	first *firstLabels
	has   atomic.Pointer[func(toolID string) bool]
}

func newToolLabels(limit int) *toolLabels { return &toolLabels{first: newFirstLabels(limit)} }

// know sets which tools the worker has.
func (l *toolLabels) know(has func(toolID string) bool) { l.has.Store(&has) }

func (l *toolLabels) label(toolID string) string {
	if toolspec.TenantOfTool(toolID) != "" {
		return tenantTool
	}
	return l.first.label(toolID, func() bool {
		has := l.has.Load()
		return has != nil && (*has)(toolID)
	})
}

// firstLabels bounds the values of a label: the first ones count, and other stands for all later ones.
type firstLabels struct {
	most int
	mu   sync.RWMutex
	seen map[string]struct{}
}

func newFirstLabels(limit int) *firstLabels {
	return &firstLabels{most: limit, seen: map[string]struct{}{}}
}

// label returns the value, or other. It asks counts, if it is not nil, whether a value that it has not seen counts at all.
func (l *firstLabels) label(value string, counts func() bool) string {
	l.mu.RLock()
	_, seen := l.seen[value]
	full := len(l.seen) >= l.most
	l.mu.RUnlock()
	switch {
	case seen:
		return value
	case full || value == "" || counts != nil && !counts():
		return other
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, seen := l.seen[value]; !seen && len(l.seen) >= l.most {
		return other
	}
	l.seen[value] = struct{}{}
	return value
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
