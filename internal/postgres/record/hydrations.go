package record

import (
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/workflows/contract"
)

// maxProvenance bounds one provenance, in bytes. Hydrate stays far below it. A larger provenance
// loses its details, because settle must not fail.
const maxProvenance = 8 << 10

// addHydrations adds the hydrations that Settle and Request write.
func addHydrations(values db.Values, hydrations []contract.Hydration) error {
	provenances := make([]*string, len(hydrations))
	for i, h := range hydrations {
		p := h.Provenance
		var err error
		if provenances[i], err = db.Encoded(p); err != nil {
			return err
		}
		if len(*provenances[i]) > maxProvenance {
			p.Problems, p.Repairs, p.Original = nil, nil, ""
			if provenances[i], err = db.Encoded(p); err != nil {
				return err
			}
		}
	}
	type hydration = contract.Hydration
	values["hydration_ats"] = db.Column(hydrations, func(h hydration) time.Time { return time.UnixMilli(h.AtMs) })
	values["hydration_seqs"] = db.Column(hydrations, func(h hydration) int { return h.Seq })
	values["hydration_outcomes"] = db.Column(hydrations, func(h hydration) string { return db.Text(h.Provenance.Outcome) })
	values["hydration_repaired"] = db.Column(hydrations, func(h hydration) bool { return h.Provenance.Repaired })
	values["hydration_tools"] = db.Column(hydrations, func(h hydration) string { return db.Text(h.Provenance.ToolID) })
	values["hydration_provider_tools"] = db.Column(hydrations, func(h hydration) string { return db.Text(h.Provenance.ProviderToolID) })
	values["hydration_digests"] = db.Column(hydrations, func(h hydration) string { return db.Text(h.Provenance.ToolDigest) })
	values["hydration_provenances"] = provenances
	return nil
}
