package jsonschema

// marks holds the members and elements of one value that some schema has evaluated, for the
// unevaluated keywords.
type marks struct {
	all bool
	set []bool
}

func (m *marks) add(i int) {
	if m == nil || m.all {
		return
	}
	for len(m.set) <= i {
		m.set = append(m.set, false)
	}
	m.set[i] = true
}

func (m *marks) addAll() {
	if m != nil {
		m.all = true
	}
}

func (m *marks) has(i int) bool { return m.all || i < len(m.set) && m.set[i] }

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

// branch returns marks for a schema that may fail; nil if no unevaluated keyword needs them.
func (m *marks) branch() *marks {
	if m == nil {
		return nil
	}
	return new(marks)
}
