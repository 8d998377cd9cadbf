package catalog

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/toolspec"
)

// Visibility is what policy says of a tool before anybody calls it.
type Visibility int

// The visibilities.
const (
	Hidden Visibility = iota
	Visible
	// VisibleWithApproval marks tools whose calls wait for a person.
	VisibleWithApproval
	// VisibleDepending marks tools of which nobody can say before the arguments are
	// known: a call may be denied, asked about or allowed.
	VisibleDepending
)

// Viewer is who looks into a catalog.
type Viewer struct {
	TenantID string
	ActorID  string
	// ToolIDs are the tools that the run may use; empty narrows nothing.
	ToolIDs []string
}

// Catalog is what one caller may see: a source filtered by policy. Seeing a tool
// does not mean that it may run; the gate decides again.
type Catalog struct {
	entries []Entry // by id
	// indexed is what Pick looks into, made when it is first asked for.
	indexed func() *index
	// embedded is what a Picker sends of the tools, made when it is first asked for.
	embedded func() []toolText
}

// Entry is a visible tool.
type Entry struct {
	toolspec.Spec
	// NeedsApproval says that policy asks a person, whatever the arguments.
	NeedsApproval bool `json:"needsApproval,omitempty"`
	// DependsOnArguments says that policy decides by the arguments.
	DependsOnArguments bool `json:"dependsOnArguments,omitempty"`
}

// New derives the catalog (CATALOG_IS_EXPLICIT) of a source's specs. There is no
// other way to one.
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

// Get returns a visible tool; false if it is hidden or unknown.
func (c Catalog) Get(toolID string) (Entry, bool) {
	for _, e := range c.entries {
		if e.Name == toolID {
			return e, true
		}
	}
	return Entry{}, false
}

// List returns the visible tools by id.
func (c Catalog) List() []Entry { return slices.Clone(c.entries) }
