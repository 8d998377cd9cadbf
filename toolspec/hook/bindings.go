package hook

import "github.com/pawl-run/pawl/toolspec/provide"

// Binding is a recipe with its scope, as facts and deltas carry it.
type Binding = provide.Binding

// Bind returns a copy of bindings with more added. A binding replaces an earlier binding of the same
// token in the same scope.
func Bind(bindings []Binding, more ...Binding) []Binding {
	for _, b := range more {
		bindings = provide.Bound(bindings, b)
	}
	return bindings
}
