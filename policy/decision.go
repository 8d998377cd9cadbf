package policy

import "github.com/pawl-run/pawl/toolspec"

// Verb is what policy says of a call. What is none of the three means deny.
type Verb string

// The verdicts.
const (
	Allow           Verb = "allow"
	Deny            Verb = "deny"
	RequireApproval Verb = "require_approval"
)

// Decision is the judgement of one call. It holds no argument and may be shown
// and recorded.
type Decision struct {
	Verb Verb `json:"verb"`
	// Undetermined says that rules need the arguments, which are not known yet,
	// and that these could change the verdict. Verb is then require_approval,
	// never allow, and the call must be judged again with its arguments.
	Undetermined bool `json:"undetermined,omitempty"`
	// OtherApprovers says that rules need the arguments, which are not known yet, and that
	// these could change who approves the call.
	OtherApprovers bool `json:"otherApprovers,omitempty"`
	// Risk is the declared one, or a higher one that rules raise it to. It is
	// empty where the tool declares none that is valid.
	Risk toolspec.Risk `json:"risk,omitempty"`
	// Message is safe to show. It is empty where the verdict is allow.
	Message string `json:"message,omitempty"`
	// Rule is what explains the verdict: `tenants.acme.rules[2]`, `allowedTools`,
	// `toolIds`, `requireApprovalForEffects`, `repaired call`, `call
	// without schema`, `mode auto, risk medium` …
	Rule string `json:"rule,omitempty"`
	// Budgets and Approval are those of the tenant, whatever the verdict; zero if the tenant
	// has no policy. Overrides for the tool may change both, and the rule that decides may
	// change Approval.
	Budgets  Budgets      `json:"budgets"`
	Approval ApprovalRule `json:"approval"`
}
