package calls

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
)

// showHydrations prints the provenance of the arguments. It leaves out hydrations that changed nothing.
func showHydrations(a *app.App, d reads.Detail) {
	titled := false
	for _, h := range d.Hydrations {
		p := h.Provenance
		if isAcceptedAsSent(p) {
			continue
		}
		if !titled {
			fmt.Fprintln(a.Out, "\nprovenance of the arguments")
			titled = true
		}
		fmt.Fprintf(a.Out, "  %s  %s, %d bytes\n", app.FormatTime(h.At), outcomeOf(p), p.OriginalBytes)
		for _, line := range []struct{ label, text string }{
			{"model said", modelSaid(p)},
			{"overlooked", strings.Join(p.Tolerances, ", ")},
			{"repairs", strings.Join(p.Repairs, ", ")},
			{"problems", problemsOf(p)},
			{"as sent", p.Original},
			{"validator", validatorOf(p)},
		} {
			if line.text != "" {
				fmt.Fprintf(a.Out, "    %-10s  %s\n", line.label, app.OneLine(line.text, 600))
			}
		}
	}
}

// isAcceptedAsSent reports whether a schema accepted the arguments, and nothing in them was tolerated, repaired or translated.
func isAcceptedAsSent(p toolspec.Provenance) bool {
	changed := p.Repaired || len(p.Tolerances) > 0 || p.ProviderToolID != ""
	return p.Outcome == toolspec.HydrationSuccess && p.Validator != nil && !changed
}

func outcomeOf(p toolspec.Provenance) string {
	switch {
	case p.Repaired:
		return "accepted after a repair by " + p.Repairer
	case p.Outcome == toolspec.HydrationSuccess:
		return "accepted"
	case p.Repairer != "":
		return "refused (" + string(p.Outcome) + "), a repair by " + p.Repairer + " did not help"
	}
	return "refused (" + string(p.Outcome) + ")"
}

func modelSaid(p toolspec.Provenance) string {
	text := join(p.Provider, p.ProviderToolID)
	if p.ProviderCallID != "" {
		text = join(text, p.ProviderCallID)
	}
	return strings.TrimSuffix(text, ", ")
}

func problemsOf(p toolspec.Provenance) string {
	list := make([]string, len(p.Problems))
	for i, q := range p.Problems {
		list[i] = q.Kind + prefixed(" at ", q.Path)
	}
	return strings.Join(list, ", ")
}

func validatorOf(p toolspec.Provenance) string {
	if p.Validator == nil {
		return "none: nothing was checked against a schema"
	}
	return p.Validator.Name + " " + p.Validator.Version + ", compiled at " + p.Validator.CompiledAt
}
