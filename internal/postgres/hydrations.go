package postgres

import (
	"time"

	"github.com/pawl-run/pawl/workflows/contract"
)

// maxProvenance bounds one provenance, in bytes. Hydrate keeps far below it; what
// is larger all the same loses its details, for settle must hold.
const maxProvenance = 8 << 10

// addHydrations adds what Settle and Request write of hydrations.
func addHydrations(values named, hydrations []contract.Hydration) error {
	provenances := make([]*string, len(hydrations))
	for i, h := range hydrations {
		p := h.Provenance
		var err error
		if provenances[i], err = encoded(p); err != nil {
			return err
		}
		if len(*provenances[i]) > maxProvenance {
			p.Problems, p.Repairs, p.Original = nil, nil, ""
			if provenances[i], err = encoded(p); err != nil {
				return err
			}
		}
	}
	type hydration = contract.Hydration
	values["hydration_ats"] = column(hydrations, func(h hydration) time.Time { return time.UnixMilli(h.AtMs) })
	values["hydration_seqs"] = column(hydrations, func(h hydration) int { return h.Seq })
	values["hydration_outcomes"] = column(hydrations, func(h hydration) string { return text(h.Provenance.Outcome) })
	values["hydration_repaired"] = column(hydrations, func(h hydration) bool { return h.Provenance.Repaired })
	values["hydration_tools"] = column(hydrations, func(h hydration) string { return text(h.Provenance.ToolID) })
	values["hydration_provider_tools"] = column(hydrations, func(h hydration) string { return text(h.Provenance.ProviderToolID) })
	values["hydration_digests"] = column(hydrations, func(h hydration) string { return text(h.Provenance.ToolDigest) })
	values["hydration_provenances"] = provenances
	return nil
}
