package hook

import "github.com/pawl-run/pawl/toolspec/provide"

// Binding is a recipe that counts in a scope, as plans and facts carry it.
type Binding = provide.Binding

// Bind returns bindings with more, each in the place of an earlier one for the
// same token and scope. What is given is not written into.
func Bind(bindings []Binding, more ...Binding) []Binding {
	for _, b := range more {
		bindings = provide.Bound(bindings, b)
	}
	return bindings
}
