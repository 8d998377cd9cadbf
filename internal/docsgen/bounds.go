package docsgen

import (
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
)

// Patterns of the contract. A comma would end the rule.
const (
	namePattern       = `pattern=^[A-Za-z0-9_.-]+$`
	digestPattern     = `pattern=^[0-9a-f]{64}$`
	approvalIDPattern = `pattern=^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.[1-9][0-9]*$`
	// spacingPattern is the part of toolspec.CheckVisible that all dialects can say:
	// single spaces, and only inside.
	spacingPattern = `pattern=^([^ ]+( [^ ]+)*)?$`
	// actorPattern is the part of toolspec.CheckActorID that all dialects can say.
	actorPattern = `pattern=^(user|agent|service): ?[^ ]+( [^ ]+)*$`
	// looseID is what toolspec allows for ids that it does not look into.
	looseID = 200
	reason  = 2000
)

// bounds are rules that the Go types do not show. A test holds them against the
// decoder.
var bounds = map[string][]string{
	"Invocation.ToolID":               {"minLength=4", "maxLength=64", `pattern=^[a-zA-Z0-9_-]+__[a-zA-Z0-9_-]+$`},
	"Invocation.ToolCallID":           text(toolspec.MaxToolCallID),
	"Invocation.AllowedConnectionIDs": {fmt.Sprintf("maxItems=%d", toolspec.MaxConnections)},
	"Context.TenantID":                append(text(toolspec.MaxTenantID), namePattern),
	"Context.RunID":                   append(text(toolspec.MaxRunID), namePattern),
	"Context.ActorID":                 append(text(looseID), actorPattern),
	"Context.SubjectID":               append(longest(looseID), spacingPattern),
	"Context.SessionID":               append(longest(looseID), spacingPattern),
	"Context.RequestID":               append(longest(looseID), spacingPattern),
	"Context.GraphID":                 append(longest(looseID), spacingPattern),
	"Context.ConnectionID":            append(longest(looseID), spacingPattern),
	"Context.VirtualKeyID":            append(longest(looseID), spacingPattern),
	"Context.ToolIDs":                 {fmt.Sprintf("maxItems=%d", toolspec.MaxToolIDs)},
	"Decision.ApprovalID":             {approvalIDPattern},
	"Decision.Approver":               append(text(looseID), spacingPattern),
	"Decision.Reason":                 longest(reason),
	"ApprovalView.ApprovalID":         {approvalIDPattern},
	"ApprovalView.Digest":             {digestPattern},
	"Result.Attempts":                 {"minimum=0"},
	"State.Attempts":                  {"minimum=0"},
}

func text(limit int) []string { return append([]string{"minLength=1"}, longest(limit)...) }

func longest(limit int) []string { return []string{fmt.Sprintf("maxLength=%d", limit)} }
