package policy

import (
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// Verb is a verdict of policy. The rules of a document have the same verbs.
type Verb = document.Verb

// The verdicts.
const (
	Allow           = document.Allow
	Deny            = document.Deny
	RequireApproval = document.RequireApproval
)

// Decision is the judgement of one call. It holds no argument and may be shown and recorded.
type Decision struct {
	Verb Verb `json:"verb"`
	// Undetermined says that the verdict could change when the arguments are known, because rules
	// need them. Verb is then require_approval, never allow. The call must be judged again with
	// its arguments.
	Undetermined bool `json:"undetermined,omitempty"`
	// OtherApprovers says that the approvers could change when the arguments are known, because
	// rules need them.
	OtherApprovers bool `json:"otherApprovers,omitempty"`
	// Risk is the declared risk, or a higher risk from a rule. It is empty if the tool declares
	// no valid risk.
	Risk toolspec.Risk `json:"risk,omitempty"`
	// Message is safe to show. It is empty if the verdict is allow.
	Message string `json:"message,omitempty"`
	// Rule names the part of the policy that decides: `tenants.acme.rules[2]`, `allowedTools`,
	// `toolIds`, `mcp`, `requireApprovalForEffects`, `repaired call`, `call without schema`,
	// `noSchemaMode`, `mode auto, risk medium` …
	Rule string `json:"rule,omitempty"`
	// Asked is the digest of the texts of all rules that ask for an approval of the call, or of the mode if no
	// rule asks. A remembered approval covers a later call only if Asked is the same. It is set if approvals may
	// be remembered.
	Asked string `json:"-"`
	// Budgets and Approval are the tenant's budgets and approvals, for every verdict. They are zero if
	// the tenant has no policy. Overrides for the tool may change both, and the deciding rule may
	// change Approval.
	Budgets  Budgets      `json:"budgets"`
	Approval ApprovalRule `json:"approval"`
}
