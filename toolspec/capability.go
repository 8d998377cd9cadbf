package toolspec

import (
	"fmt"
	"maps"
	"slices"
)

// CapabilityName names an ability that a tool may declare: clock, files …
type CapabilityName string

// Capability is a typed name of an ability. Tools declare it and take it from
// their call; the composition root provides it.
type Capability[T any] struct{ name CapabilityName }

// NewCapability makes the typed name.
func NewCapability[T any](name CapabilityName) Capability[T] { return Capability[T]{name: name} }

// Name returns the untyped name, for declarations.
func (c Capability[T]) Name() CapabilityName { return c.name }

// ProvideFor binds the name to an implementation that depends on the context of the call, such as
// its tenant. from must be fast, and safe for concurrent use.
func (c Capability[T]) ProvideFor(from func(Context) T) Provided {
	return Provided{name: c.name, value: from}
}

// From returns the ability. It panics if the tool did not declare the ability, because that is a
// programming error; the runner turns the panic into `internal`.
func (c Capability[T]) From(call Call) T {
	switch v := call.capabilities.values[c.name].(type) {
	case T:
		return v
	case func(Context) T: //nolint:gocritic // T is an interface of methods, which no function is
		return v(call.Context)
	}
	panic(UndeclaredError{c.name, call.ToolID})
}

// UndeclaredError is the panic of a tool that uses a capability without declaring it. Its text has only names of the
// program.
type UndeclaredError struct {
	name   CapabilityName
	toolID string
}

// Error says which capability the tool must declare.
func (e UndeclaredError) Error() string {
	return fmt.Sprintf("the tool %s uses the capability %s, which is not in its Capabilities", e.toolID, e.name)
}

// Provide binds an implementation to the name.
func (c Capability[T]) Provide(v T) Provided { return Provided{name: c.name, value: v} }

// Provided is an ability with its implementation.
type Provided struct {
	name  CapabilityName
	value any
}

// Name returns the untyped name.
func (p Provided) Name() CapabilityName { return p.name }

// Capabilities are the abilities that a worker provides, or a call received.
type Capabilities struct{ values map[CapabilityName]any }

// NewCapabilities collects provided abilities. The same name twice is an error.
func NewCapabilities(provided ...Provided) (Capabilities, error) {
	c := Capabilities{values: make(map[CapabilityName]any, len(provided))}
	for _, p := range provided {
		if _, taken := c.values[p.name]; taken {
			return Capabilities{}, fmt.Errorf("capability %q is provided twice", p.name)
		}
		c.values[p.name] = p.value
	}
	return c, nil
}

// Only returns exactly the named abilities; a name that is not provided is an
// error (RUNTIME_BINDS_ALL).
func (c Capabilities) Only(names []CapabilityName) (Capabilities, error) {
	only := Capabilities{values: make(map[CapabilityName]any, len(names))}
	for _, name := range names {
		v, ok := c.values[name]
		if !ok {
			return Capabilities{}, fmt.Errorf("no capability %q is provided; this worker provides %v", name, c.Names())
		}
		only.values[name] = v
	}
	return only, nil
}

// With returns the abilities. An ability of provided replaces the ability of the same name.
func (c Capabilities) With(provided ...Provided) Capabilities {
	if len(provided) == 0 {
		return c
	}
	with := Capabilities{values: make(map[CapabilityName]any, len(c.values)+len(provided))}
	maps.Copy(with.values, c.values)
	for _, p := range provided {
		with.values[p.name] = p.value
	}
	return with
}

// Lacks returns the names that are not provided, in the order of names.
func (c Capabilities) Lacks(names []CapabilityName) (missing []CapabilityName) {
	for _, name := range names {
		if _, ok := c.values[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// Names lists what is provided, sorted.
func (c Capabilities) Names() []CapabilityName {
	names := make([]CapabilityName, 0, len(c.values))
	for name := range c.values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
