package policy

import (
	"bytes"
	"slices"

	"github.com/pawl-run/pawl/policy/authz"
)

// Policy is a compiled document. It does not change after it is made and may be
// used by several goroutines. A nil or zero Policy denies every call.
type Policy struct {
	tenants map[string]*tenant
	source  []byte
	digest  string
	// mentions are the patterns of tools, as written.
	mentions []mention
}

// tenant is the compiled entry of one tenant.
type tenant struct {
	allowed  []Pattern
	rules    []rule // sorted by class, then as written
	mode     Mode
	budgets  Budgets
	limits   []limit
	cache    []cacheRule
	approval ApprovalRule
	roles    []role // sorted by name
	// features are sorted by flag, overrides as written.
	features  []feature
	overrides []override
	basis     authz.Basis
	repair    []Pattern
}

// everyTenant is the entry for tenants that are not named.
const everyTenant = "*"

// tenant finds the entry of a tenant: its own, or else that for every tenant. It
// is nil where there is none.
func (p *Policy) tenant(id string) *tenant {
	if p == nil || id == "" {
		return nil
	}
	if t := p.tenants[id]; t != nil {
		return t
	}
	return p.tenants[everyTenant]
}

// Digest names the policy: the hexadecimal SHA-256 of Source. Comments, layout,
// the order of keys and whether a default is written out do not change it. It is
// empty where no policy is active.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// Source is the document in its canonical form, RFC 8785 JSON, as it is stored.
// Parse of it gives the same policy with the same digest. It is nil where no
// policy is active.
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
