package policy

import (
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/strictyaml"
)

// Feature is a flag that a call depends on.
type Feature struct {
	Flag string
	// On says whether the flag is on for the actor of the call.
	On bool
	// Message is a text for actors for whom the flag is off. It is safe to show and never empty.
	Message string
	// Source is the path of the flag: tenants.acme.features.exports.
	Source string
}

// feature is one compiled flag.
type feature struct {
	tools   []document.Pattern
	enabled bool
	roles   []string // the actor needs one of them; empty is every actor
	base    Feature
}

func compileFeature(flag string, doc document.Feature, tenant string) feature {
	f := feature{tools: doc.Tools, enabled: doc.Enabled, roles: doc.Roles, base: Feature{
		Flag: flag, Message: string(doc.Message), Source: strictyaml.Join(strictyaml.Join(tenant, "features"), flag),
	}}
	if f.base.Message == "" {
		f.base.Message = "the feature " + flag + " is off"
	}
	return f
}

// Features returns the flags that a call depends on, sorted by name. The call runs only if all of
// them are on. They do not depend on its arguments.
func (p *Policy) Features(f Facts) []Feature {
	t := p.tenant(f.TenantID)
	if t == nil {
		return nil
	}
	var features []Feature
	e := p.evaluation(t, f)
	for _, x := range t.features {
		if document.MatchesAny(x.tools, f.ToolID) {
			one := x.base
			one.On = x.enabled && (len(x.roles) == 0 || e.hasOne(x.roles))
			features = append(features, one)
		}
	}
	return features
}
