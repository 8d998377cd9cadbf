package policy

import (
	"bytes"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/document"
)

// Policy is a compiled document. It does not change after it is made, and several goroutines may
// use it. A nil or zero Policy denies every call.
type Policy struct {
	tenants map[string]*tenant
	// reviews are the reviews of discovered tools, by the ids of the tools.
	reviews map[string]compiledReview
	source  []byte
	digest  string
	doc     document.Document
}

// tenant is the compiled entry of one tenant.
type tenant struct {
	allowed  []document.Pattern
	rules    []Rule // sorted by class, then in the order of the document
	mode     document.Mode
	budgets  Budgets
	limits   []limit
	cache    []cacheRule
	masks    []mask
	approval ApprovalRule
	roles    []role // sorted by name
	// features are sorted by flag, overrides in the order of the document.
	features  []feature
	overrides []override
	basis     authz.Basis
	repair    []document.Pattern
}

// tenant returns the entry of a tenant: its own, or else the entry for every tenant. It is nil if
// there is neither.
func (p *Policy) tenant(id string) *tenant {
	if p == nil || id == "" {
		return nil
	}
	if t := p.tenants[id]; t != nil {
		return t
	}
	return p.tenants[document.EveryTenant]
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

// Document returns the document as it is written, with every default filled in. The caller must not
// change it. It is zero if no policy is active.
func (p *Policy) Document() document.Document {
	if p == nil {
		return document.Document{}
	}
	return p.doc
}

// Tenants lists the tenants that the document names, sorted. One of them may be
// document.EveryTenant.
func (p *Policy) Tenants() []string {
	if p == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(p.tenants))
}

// Rules returns the compiled rules of a tenant in the order of their precedence. The caller must
// not change the lists in them.
func (p *Policy) Rules(tenantID string) []Rule {
	if t := p.tenant(tenantID); t != nil {
		return slices.Clone(t.rules)
	}
	return nil
}
