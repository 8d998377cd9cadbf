package jsonschema

// marks holds the members and elements of one value that some schema has evaluated, for the
// keywords unevaluatedProperties and unevaluatedItems. A nil *marks means that no such keyword needs them:
// the methods that change it then do nothing.
type marks struct {
	all bool
	set []bool
}

// add marks the member or element at index i as evaluated.
func (m *marks) add(i int) {
	if m == nil || m.all {
		return
	}
	for len(m.set) <= i {
		m.set = append(m.set, false)
	}
	m.set[i] = true
}

// addAll marks all members and elements as evaluated.
func (m *marks) addAll() {
	if m != nil {
		m.all = true
	}
}

func (m *marks) has(i int) bool { return m.all || i < len(m.set) && m.set[i] }

// merge adds the marks of other.
func (m *marks) merge(other *marks) {
	if m == nil || other == nil {
		return
	}
	m.all = m.all || other.all
	for i, set := range other.set {
		if set {
			m.add(i)
		}
	}
}

// branch returns new marks for a schema that may fail, so that its marks can be dropped. It returns nil for nil.
func (m *marks) branch() *marks {
	if m == nil {
		return nil
	}
	return new(marks)
}
