package provide

// Bound returns a copy of bindings with b added. b replaces an earlier binding of the same token
// and scope.
func Bound(bindings []Binding, b Binding) []Binding {
	out := make([]Binding, 0, len(bindings)+1)
	for _, other := range bindings {
		if other.Scope != b.Scope || other.Token != b.Token {
			out = append(out, other)
		}
	}
	return append(out, b)
}
