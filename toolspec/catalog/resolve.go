package catalog

import "github.com/pawl-run/pawl/toolspec"

// Resolve returns the visible tool that a caller means: the one with this id, else
// the only one whose bare name it is (C-09). glob means core__glob as long as no
// other visible tool is called so. A bare name is an alias of input: what is sent,
// kept and judged is the id of the entry.
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
