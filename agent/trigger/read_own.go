package trigger

import (
	"errors"
	"slices"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// own reads which events of Pawl start runs.
func (r *reader) own(n *node, path string) {
	o := &OwnOptions{}
	r.Mapping(n, path,
		field{Name: "event", Required: "is missing: run_ended, call_ended or approval_requested", Read: func(n *node, path string) {
			o.Event = strictyaml.OneOf(r.Reader, n, path, RunEnded, CallEnded, ApprovalRequested)
		}},
		field{Name: "agents", Read: r.names(&o.Agents, func(v string) error {
			if !nameForm.MatchString(v) {
				return errors.New("must be the name of an agent")
			}
			return nil
		})},
		field{Name: "tools", Read: r.names(&o.Tools, toolspec.CheckToolID)},
		field{Name: "outcomes", Read: r.names(&o.Outcomes, func(v string) error { return toolspec.CheckVisible("an outcome", v, MaxName) })},
	)
	r.doc.Own = o
	switch o.Event {
	case RunEnded:
		r.excludes(n, strictyaml.Join(path, "tools"), o.Tools, "is only for call_ended and approval_requested")
		r.knows(n, strictyaml.Join(path, "outcomes"), o.Outcomes, func(v string) bool { return slices.Contains(runOutcomes, agent.Outcome(v)) }, "the end of a run")
	case CallEnded:
		r.excludes(n, strictyaml.Join(path, "agents"), o.Agents, "is only for run_ended")
		r.knows(n, strictyaml.Join(path, "outcomes"), o.Outcomes, func(v string) bool { return v == "ok" || toolspec.Code(v).Known() }, `"ok" or a code of an error`)
	case ApprovalRequested:
		r.excludes(n, strictyaml.Join(path, "agents"), o.Agents, "is only for run_ended")
		r.excludes(n, strictyaml.Join(path, "outcomes"), o.Outcomes, "is only for run_ended and call_ended")
	}
}

var runOutcomes = []agent.Outcome{agent.Completed, agent.Interrupted, agent.Cancelled, agent.OverBudget, agent.Failed}

// names reads a list of different texts.
func (r *reader) names(into *[]string, check func(string) error) func(n *node, path string) {
	return func(n *node, path string) {
		r.List(n, path, MaxFilter, func(n *node, path string) {
			var v string
			r.checked(&v, check)(n, path)
			*into = append(*into, v)
		})
		r.NotEmpty(n, path, "leave it out to exclude nothing")
	}
}

func (r *reader) excludes(n *node, path string, names []string, why string) {
	if len(names) > 0 {
		r.Fail(n, path, "%s", why)
	}
}

func (r *reader) knows(n *node, path string, names []string, isKnown func(string) bool, what string) {
	for _, name := range names {
		if name != "" && !isKnown(name) { // an empty one has a fault already
			r.Fail(n, path, "%s is not %s", name, what)
		}
	}
}
