package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

// Source finds bound tools (TOOL_SOURCE_RETURNS_BOUND_TOOL).
type Source interface {
	// Get returns the tool with this id; false if the source does not have it.
	Get(toolID string) (*Bound, bool)
	// Specs returns the specs of all tools, ordered by id.
	Specs() []toolspec.Spec
}

// Registry is a Source to which the program adds tools. A registered tool is known. Policy decides
// who sees it and which calls run.
type Registry struct {
	provided toolspec.Capabilities
	mu       sync.RWMutex
	byID     map[string]*Bound
	origins  map[string]source.Info
	// earlier holds the former definitions of tools: for each source, by versionKey.
	earlier map[source.Info]map[string]*Bound
}

// NewRegistry returns an empty registry. Tools are bound to the capabilities in provided.
func NewRegistry(provided toolspec.Capabilities) *Registry {
	return &Registry{
		provided: provided, byID: make(map[string]*Bound), origins: make(map[string]source.Info), earlier: make(map[source.Info]map[string]*Bound),
	}
}

// Describe returns a registry of tools for their specs and schemas. It provides no capability, so these
// tools must not run.
func Describe(origin string, tools ...toolspec.Tool) (*Registry, error) {
	var declared []toolspec.Provided
	for _, tool := range tools {
		for _, name := range tool.Definition().Capabilities {
			declared = append(declared, toolspec.NewCapability[any](name).Provide(nil))
		}
	}
	r := NewRegistry(toolspec.Capabilities{}.With(declared...))
	if err := r.Add(origin, tools...); err != nil {
		return nil, err
	}
	return r, nil
}

// Add checks and binds tools. If an id is taken, it returns an error that names both origins and
// does not replace the tool (TOOL_ID_STABILITY).
func (r *Registry) Add(origin string, tools ...toolspec.Tool) error {
	for _, tool := range tools {
		bound, err := Bind(tool, r.provided)
		if err != nil {
			return err
		}
		from := source.Info{Kind: source.Kind(origin)}
		if err := checkNamespace(from, bound.ID()); err != nil {
			return err
		}
		bound.comesFrom(from)
		if err := r.keep(from, bound); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) keep(from source.Info, b *Bound) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	other, taken := r.origins[b.ID()]
	if taken && other == from {
		return fmt.Errorf("tool %s: two tools of the same source (%s) have this id; give each tool an id of its own", b.ID(), from)
	}
	if taken {
		return fmt.Errorf("tool %s: the id is taken: it comes from %s and from %s", b.ID(), other, from)
	}
	r.byID[b.ID()], r.origins[b.ID()] = b, from
	return nil
}

// Remove removes a tool; it returns false if there was none. Running calls of the tool wait for a
// worker that has it.
func (r *Registry) Remove(toolID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, had := r.byID[toolID]
	delete(r.byID, toolID)
	delete(r.origins, toolID)
	return had
}

// Get returns the tool with this id.
func (r *Registry) Get(toolID string) (*Bound, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	b, ok := r.byID[toolID]
	return b, ok
}

// Find returns the definition of a tool with this digest. If the registry does not have it, or if the
// digest is empty, it returns the tool as Get does.
func (r *Registry) Find(toolID, digest string) (*Bound, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	b, ok := r.byID[toolID]
	if digest == "" || ok && b.Digest() == digest {
		return b, ok
	}
	for _, earlier := range r.earlier {
		if old, has := earlier[versionKey(toolID, digest)]; has {
			return old, true
		}
	}
	return b, ok
}

// versionKey names a definition of a tool. No id has a space.
func versionKey(toolID, digest string) string { return toolID + " " + digest }

// checkNamespace returns an error for a tool in a namespace of a tenant that is not registered, and for a
// registered tool outside of these namespaces.
func checkNamespace(from source.Info, toolID string) error {
	switch of := toolspec.TenantOfTool(toolID); {
	case of != "" && from.Kind != source.Registered:
		return fmt.Errorf("tool %s: its namespace is that of the tools that are registered for a tenant; give it another one", toolID)
	case of == "" && from.Kind == source.Registered:
		return fmt.Errorf("tool %s: a registered tool needs the namespace of its tenant", toolID)
	}
	return nil
}

// Specs returns the specs of all tools, ordered by id.
func (r *Registry) Specs() []toolspec.Spec {
	r.mu.RLock()
	defer r.mu.RUnlock()
	specs := make([]toolspec.Spec, 0, len(r.byID))
	for _, b := range r.byID {
		specs = append(specs, b.Spec())
	}
	slices.SortFunc(specs, func(a, b toolspec.Spec) int { return cmp.Compare(a.Name, b.Name) })
	return specs
}
