package policy

import (
	"bytes"
	"slices"

	"github.com/pawl-run/pawl/policy/authz"
)

// Policy is a compiled document. It does not change after it is made, and several goroutines may
// use it. A nil or zero Policy denies every call.
type Policy struct {
	tenants map[string]*tenant
	source  []byte
	digest  string
	// mentions are the patterns of tools, in the order of the document.
	mentions []mention
}

// tenant is the compiled entry of one tenant.
type tenant struct {
	allowed  []Pattern
	rules    []rule // sorted by class, then in the order of the document
	mode     Mode
	budgets  Budgets
	limits   []limit
	cache    []cacheRule
	approval ApprovalRule
	roles    []role // sorted by name
	// features are sorted by flag, overrides in the order of the document.
	features  []feature
	overrides []override
	basis     authz.Basis
	repair    []Pattern
}

// everyTenant is the key of the entry for tenants without an entry of their own.
const everyTenant = "*"

// tenant returns the entry of a tenant: its own, or else the entry for every tenant. It is nil if
// there is neither.
func (p *Policy) tenant(id string) *tenant {
	if p == nil || id == "" {
		return nil
	}
	if t := p.tenants[id]; t != nil {
		return t
	}
	return p.tenants[everyTenant]
}

// Digest identifies the policy: it is the hexadecimal SHA-256 of Source. Comments, layout, the
// order of keys and defaults that are written out do not change it. It is empty if no policy is
// active.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// Source returns the document as it is stored: in its canonical form, RFC 8785 JSON. Parsing it
// gives the same policy with the same digest. It is nil if no policy is active.
func (p *Policy) Source() []byte {
	if p == nil {
		return nil
	}
	return bytes.Clone(p.source)
}

// tenantIDs lists the tenants of the document, sorted.
func (p *Policy) tenantIDs() []string {
	ids := make([]string, 0, len(p.tenants))
	for id := range p.tenants {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
