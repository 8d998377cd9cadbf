package policy

// Repairs reports whether arguments for a tool may be mended, once, where they
// cannot be used as they were sent. What was mended needs an approval whatever
// else the policy says.
func (p *Policy) Repairs(tenantID, toolID string) bool {
	t := p.tenant(tenantID)
	return t != nil && matchesAny(t.repair, toolID)
}
