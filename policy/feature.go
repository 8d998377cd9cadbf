package policy

// Feature is a flag on which a call depends.
type Feature struct {
	Flag string
	// On says whether the flag is on for the actor of the call.
	On bool
	// Message is safe to show to whom it is off for; never empty.
	Message string
	// Source is where the flag stands: tenants.acme.features.exports.
	Source string
}

// feature is one compiled flag.
type feature struct {
	tools   []Pattern
	enabled bool
	roles   []string // of which the actor has one; empty is every actor
	base    Feature
}

func compileFeature(flag string, doc featureDoc, tenant string) feature {
	f := feature{tools: doc.Tools, enabled: doc.Enabled, roles: doc.Roles, base: Feature{
		Flag: flag, Message: doc.Message, Source: join(join(tenant, "features"), flag),
	}}
	if f.base.Message == "" {
		f.base.Message = "the feature " + flag + " is off"
	}
	return f
}

// Features returns the flags on which a call depends, sorted by name. A call runs
// where all of them are on. They do not depend on its arguments.
func (p *Policy) Features(f Facts) []Feature {
	t := p.tenant(f.TenantID)
	if t == nil {
		return nil
	}
	var features []Feature
	e := t.evaluation(f)
	for _, x := range t.features {
		if matchesAny(x.tools, f.ToolID) {
			one := x.base
			one.On = x.enabled && (len(x.roles) == 0 || e.hasOne(x.roles))
			features = append(features, one)
		}
	}
	return features
}
