package schema

import "github.com/pawl-run/pawl/toolspec/jsonschema"

// cycles has the strongly connected components of the schemas of a document: the schemas of one component reach each other by
// references and by subschemas that are applied. Tarjan's algorithm finds them in one pass.
type cycles struct {
	component map[*jsonschema.Node]int
	// order numbers the schemas in the order of their visits, from 1. lowest is the lowest number that a schema reaches.
	order, lowest map[*jsonschema.Node]int
	// open are the visited schemas without a component.
	open []*jsonschema.Node
}

// findCycles returns the components of the schemas below root.
func findCycles(root *jsonschema.Node) *cycles {
	c := &cycles{component: map[*jsonschema.Node]int{}, order: map[*jsonschema.Node]int{}, lowest: map[*jsonschema.Node]int{}}
	_ = root.Walk(func(n *jsonschema.Node) error {
		if c.order[n] == 0 {
			c.visit(n)
		}
		return nil
	})
	return c
}

// isRecursive reports whether the target of $ref contains n again.
func (c *cycles) isRecursive(n *jsonschema.Node) bool {
	return n.Ref != nil && c.component[n] == c.component[n.Ref]
}

func (c *cycles) visit(n *jsonschema.Node) {
	c.order[n] = len(c.order) + 1
	c.lowest[n] = c.order[n]
	first := len(c.open)
	c.open = append(c.open, n)
	for _, s := range n.Subs {
		if jsonschema.RoleOf(s.Keyword) == jsonschema.Applies {
			c.follow(n, s.To)
		}
	}
	if n.Ref != nil {
		c.follow(n, n.Ref)
	}
	if c.lowest[n] == c.order[n] {
		for _, member := range c.open[first:] {
			c.component[member] = c.order[n]
		}
		c.open = c.open[:first]
	}
}

// follow visits a schema that n reaches, unless it was visited.
func (c *cycles) follow(n, to *jsonschema.Node) {
	switch {
	case c.order[to] == 0:
		c.visit(to)
		c.lowest[n] = min(c.lowest[n], c.lowest[to])
	case c.component[to] == 0:
		c.lowest[n] = min(c.lowest[n], c.order[to])
	}
}
