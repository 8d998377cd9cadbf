package catalog

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/toolspec"
)

// Visibility is the verdict of policy about a tool before a call.
type Visibility int

// The visibilities.
const (
	Hidden Visibility = iota
	Visible
	// VisibleWithApproval marks tools whose calls need an approval.
	VisibleWithApproval
	// VisibleDepending marks tools for which the verdict depends on the arguments: a call may be
	// denied, need an approval, or be allowed.
	VisibleDepending
)

// Viewer is the caller for whom a catalog is made.
type Viewer struct {
	TenantID string
	ActorID  string
	// GraphID is the graph of the calls, which only relations look at; empty means any graph.
	GraphID string
	// ToolIDs are the tools that the run may use; empty means all.
	ToolIDs []string
}

// Catalog is the set of tools that one caller may see. Policy filters the tools of a source. A
// visible tool may still be refused: the gate decides about each call.
type Catalog struct {
	entries []Entry // by id
	// indexed returns the index for Pick. The first call makes it.
	indexed func() *index
	// embedded returns the texts that a Picker sends to its Embedder. The first call makes them.
	embedded func() []toolText
}

// Entry is a visible tool.
type Entry struct {
	toolspec.Spec
	// NeedsApproval reports that every call of the tool needs an approval.
	NeedsApproval bool `json:"needsApproval,omitempty"`
	// DependsOnArguments reports that the verdict of policy depends on the arguments.
	DependsOnArguments bool `json:"dependsOnArguments,omitempty"`
}

// New returns the catalog of the specs that see does not hide (CATALOG_IS_EXPLICIT).
func New(specs []toolspec.Spec, see func(toolspec.Spec) Visibility) Catalog {
	var c Catalog
	for _, spec := range specs {
		switch see(spec) {
		case Visible:
			c.entries = append(c.entries, Entry{Spec: spec})
		case VisibleWithApproval:
			c.entries = append(c.entries, Entry{Spec: spec, NeedsApproval: true})
		case VisibleDepending:
			c.entries = append(c.entries, Entry{Spec: spec, DependsOnArguments: true})
		case Hidden:
		}
	}
	slices.SortStableFunc(c.entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	entries := c.entries
	c.indexed = sync.OnceValue(func() *index { return newIndex(entries) })
	c.embedded = sync.OnceValue(func() []toolText { return toolTexts(entries) })
	return c
}

// Get returns the visible tool with this id; false if the tool is hidden or unknown.
func (c Catalog) Get(toolID string) (Entry, bool) {
	for _, e := range c.entries {
		if e.Name == toolID {
			return e, true
		}
	}
	return Entry{}, false
}

// List returns the visible tools, ordered by id.
func (c Catalog) List() []Entry { return slices.Clone(c.entries) }
