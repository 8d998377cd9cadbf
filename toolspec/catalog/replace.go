package catalog

import (
	"fmt"
	"reflect"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

// Reason says why a registry leaves a tool of a source out.
type Reason string

// The reasons.
const (
	// Invalid is the reason of a tool that breaks a rule of the contract, or needs a capability that the
	// worker does not provide.
	Invalid Reason = "invalid"
	// Taken is the reason of a tool whose id a tool of another source has.
	Taken Reason = "taken"
	// Repeated is the reason of a tool with the id of an earlier tool in the same call of Replace.
	Repeated Reason = "repeated"
)

// LeftOut is a tool of a source that the registry does not have.
type LeftOut struct {
	// ToolID is the id as the source gave it. It may be any text.
	ToolID string
	Reason Reason
	// By is the source that has the id, if the reason is Taken.
	By source.Info
	// Err is the rule that the tool breaks, if the reason is Invalid. Its text may quote the definition.
	Err error
}

// Error says which tool is left out and why.
func (l LeftOut) Error() string {
	switch l.Reason {
	case Taken:
		return fmt.Sprintf("tool %s: the id is taken by a tool of %s", l.ToolID, l.By)
	case Repeated:
		return fmt.Sprintf("tool %s: the source offers two tools with this id", l.ToolID)
	default:
		return l.Err.Error()
	}
}

// Unwrap returns the rule that the tool breaks, or nil.
func (l LeftOut) Unwrap() error { return l.Err }

// Replace makes tools the only tools of a source, in one step: Get and Specs see either the former
// tools or all new tools. Calls that run keep the tool that they have. Replace leaves out a tool that
// cannot be bound, and a tool whose id is taken; this affects no other tool. changed reports whether
// the specs of the source changed.
//
// Find returns the definitions in earlier, too. Get and Specs do not return them.
func (r *Registry) Replace(from source.Info, tools, earlier []toolspec.Tool) (changed bool, left []LeftOut) {
	next := make([]*Bound, 0, len(tools))
	offered := make(map[string]bool, len(tools))
	for _, tool := range tools {
		// Binding compiles schemas, so it runs before the lock.
		bound, err := r.bindFrom(from, tool)
		switch id := tool.Definition().ID; {
		case err != nil:
			left = append(left, LeftOut{ToolID: id, Reason: Invalid, Err: err})
		case offered[id]:
			left = append(left, LeftOut{ToolID: id, Reason: Repeated})
		default:
			offered[id] = true
			next = append(next, bound)
		}
	}
	versions := make(map[string]*Bound, len(earlier))
	for _, tool := range earlier {
		if bound, err := r.bindFrom(from, tool); err == nil {
			versions[versionKey(bound.ID(), bound.Digest())] = bound
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.earlier[from] = versions
	kept := make(map[string]bool, len(next))
	for _, b := range next {
		if by, taken := r.origins[b.ID()]; taken && by != from {
			left = append(left, LeftOut{ToolID: b.ID(), Reason: Taken, By: by})
			continue
		}
		old, had := r.byID[b.ID()]
		changed = changed || !had || !reflect.DeepEqual(old.spec, b.spec)
		r.byID[b.ID()], r.origins[b.ID()] = b, from
		kept[b.ID()] = true
	}
	for id, by := range r.origins {
		if by == from && !kept[id] {
			changed = true
			delete(r.byID, id)
			delete(r.origins, id)
		}
	}
	return changed, left
}

// bindFrom binds a tool of a source. Definitions of a source may be anything, so a panic leaves out this tool only.
func (r *Registry) bindFrom(from source.Info, tool toolspec.Tool) (bound *Bound, err error) {
	defer func() {
		if p := recover(); p != nil { // its value may be a secret
			bound, err = nil, fmt.Errorf("binding the tool panicked (%T)", p)
		}
	}()
	bound, err = Bind(tool, r.provided)
	if err == nil {
		err = checkNamespace(from, bound.ID())
	}
	if err != nil {
		return nil, err
	}
	bound.comesFrom(from)
	return bound, nil
}
