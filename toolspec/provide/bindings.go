package provide

// Bound returns bindings with one more, in the place of an earlier one for the
// same token and scope. What is given is not written into.
func Bound(bindings []Binding, b Binding) []Binding {
	out := make([]Binding, 0, len(bindings)+1)
	for _, other := range bindings {
		if other.Scope != b.Scope || other.Token != b.Token {
			out = append(out, other)
		}
	}
	return append(out, b)
}
