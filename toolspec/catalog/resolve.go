package catalog

import "github.com/pawl-run/pawl/toolspec"

// Resolve returns the visible tool with this id or, if there is none, the only visible tool with
// this bare name (C-09). For example glob means core__glob if no other visible tool has the bare
// name glob. A bare name is only an input: calls, records and policy use the id of the entry.
func (c Catalog) Resolve(name string) (Entry, bool) {
	if e, ok := c.Get(name); ok {
		return e, true
	}
	var meant Entry
	found := 0
	for _, e := range c.entries {
		if bare := toolspec.BareName(e.Name); bare != "" && bare == name {
			meant = e
			found++
		}
	}
	if found != 1 {
		return Entry{}, false
	}
	return meant, true
}
