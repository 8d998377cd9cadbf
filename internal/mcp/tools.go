package mcp

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

// maxReports bounds the log lines about one list of tools.
const maxReports = 50

// tools makes offers of definitions. It is not safe for concurrent use.
type tools struct {
	server  Server
	reviews Reviews
	calls   runner
	log     *slog.Logger
	// made has the result for each definition of the last offer, by the name that the server gives the tool. It also has
	// the definitions that were left out.
	made map[string]offered
}

// offered is a tool with what it was made of.
type offered struct {
	digest, review string
	tool           toolspec.Tool
	fault          *fault
}

// offer returns the tools of definitions. why says why there is no session; it is empty if there is one.
func (t *tools) offer(ctx context.Context, definitions []definition, why string) source.Offer {
	names, ids := map[string]int{}, map[string]int{}
	for _, d := range definitions {
		names[d.Name]++
		ids[toolspec.MCPToolID(t.server.ID, d.Name)]++
	}
	var o source.Offer
	made := make(map[string]offered, len(definitions))
	reports, leftOut := 0, 0
	for _, d := range definitions {
		id := toolspec.MCPToolID(t.server.ID, d.Name)
		made[d.Name] = t.make(d, names[d.Name] > 1, ids[id] > 1)
		one := made[d.Name]
		before, known := t.made[d.Name]
		isNew := !known || before.digest != one.digest || before.review != one.review || before.fault.why() != one.fault.why()
		if one.fault.leavesOut() {
			leftOut++
		} else {
			o.Tools = append(o.Tools, one.tool)
		}
		if isNew && one.fault != nil && reports < maxReports {
			t.report(ctx, id, one.fault)
			reports++
		}
	}
	t.made = made
	switch {
	case why != "":
		o.Fault = why
	case leftOut > 0:
		o.Fault = fmt.Sprintf("%d of %d tools are left out; the log of the worker has the reasons", leftOut, len(definitions))
	}
	return o
}

// report logs why a tool is left out, or why its review does not count.
func (t *tools) report(ctx context.Context, id string, f *fault) {
	message := "the review of a tool of an MCP server does not count"
	if f.leavesOut() {
		message = "a tool of an MCP server is left out"
	}
	t.log.WarnContext(ctx, message, "toolId", id, "reason", f.String()) //nolint:sloglint // one of two constants
}

// make returns the tool of a definition. It reuses the tool of the last offer if nothing has changed.
func (t *tools) make(d definition, twice, sameID bool) offered {
	if d.undigested != nil {
		return offered{fault: newFault(reasonSchema, d.undigested)}
	}
	if twice { // the digest of one of them would make the other look new at each offer
		return offered{fault: newFault(reasonTwice, nil)}
	}
	made := offered{digest: d.digest}
	var review *policy.MCPReview
	if r, ok := t.reviews.Review(t.server.ID, d.Name); ok {
		review, made.review = &r, r.ReviewDigest()
	}
	if sameID {
		made.fault = newFault(reasonSameID, nil)
		return made
	}
	if before, ok := t.made[d.Name]; ok && before.digest == made.digest && before.review == made.review && before.fault.why() != reasonSameID {
		return before
	}
	made.tool, made.fault = d.tool(t.server, review, t.calls)
	return made
}
