package document

import (
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
)

// RuleApprovals says who approves and how long a request stays open, for the calls of a rule or
// for the tools of an override.
type RuleApprovals struct {
	ExpiresAfter Duration     `json:"expiresAfter,omitempty" jsonschema_description:"How long a request stays open: 1s to 30d."`
	Approvers    Approvers    `json:"approvers,omitempty" jsonschema_description:"Who may decide."`
	Quorum       int64        `json:"quorum,omitempty" jsonschema:"minimum=1,maximum=16" jsonschema_description:"How many different people have to approve."`
	Chain        []ChainEntry `json:"chain,omitempty" jsonschema:"minItems=1,maxItems=8" jsonschema_description:"Who is asked one after the other, instead of approvers and quorum."`
}

// IsZero reports whether a sets nothing, so that the approvals of the tenant apply unchanged.
func (a RuleApprovals) IsZero() bool {
	return a.ExpiresAfter == "" && a.Approvers == nil && a.Quorum == 0 && a.Chain == nil
}

// Approvers are patterns of the identities that may decide, and role:NAME for every identity with
// that role. If the list is empty, everybody may decide.
type Approvers []Pattern

// Roles returns the names of the roles, sorted.
func (a Approvers) Roles() (names []string) {
	for _, p := range a {
		if name, ok := strings.CutPrefix(string(p), authz.RolePrefix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Approvals are the approvals of a tenant.
type Approvals struct {
	RuleApprovals

	Enabled           bool         `json:"enabled" jsonschema_description:"Where it is false nobody is asked, and what would be asked is denied."`
	AllowSelfApproval bool         `json:"allowSelfApproval" jsonschema_description:"Whether the requester may decide."`
	AllowUnsigned     bool         `json:"allowUnsigned" jsonschema_description:"Whether decisions without a signature count. For development only."`
	Remember          Remember     `json:"remember,omitzero" jsonschema_description:"Whether approvals may be remembered for later calls."`
	ParkUnknown       Duration     `json:"parkUnknown,omitempty" jsonschema_description:"How long a call whose outcome is unknown waits for a person."`
	RemindAfter       Duration     `json:"remindAfter,omitempty" jsonschema_description:"How long a request waits until its approvers are reminded of it, sooner than expiresAfter."`
	Escalate          []Escalation `json:"escalate,omitempty" jsonschema:"minItems=1,maxItems=4" jsonschema_description:"Who may decide too on a request that waits long, the sooner steps first, all before expiresAfter."`
}

// ChainEntry is an entry of a chain: a set of people, some of whom have to approve.
type ChainEntry struct {
	Name      string    `json:"name,omitempty" jsonschema:"minLength=1,maxLength=100"`
	Approvers Approvers `json:"approvers,omitempty"`
	Quorum    int64     `json:"quorum,omitempty" jsonschema:"minimum=1,maximum=16" jsonschema_description:"How many different people have to approve."`
}

// Escalation lets further people decide on a request that waits long.
type Escalation struct {
	After     Duration  `json:"after" jsonschema:"required" jsonschema_description:"How long the request has waited by then: 1s to 30d."`
	Approvers Approvers `json:"approvers" jsonschema:"required" jsonschema_description:"To whom it goes."`
}

// Remember says whether approvals may be remembered for later calls.
type Remember struct {
	For      Duration `json:"for" jsonschema:"required" jsonschema_description:"The longest time: 1s to 30d."`
	AnyArgs  bool     `json:"anyArgs,omitempty" jsonschema_description:"Also for other arguments than the approved ones."`
	AnyActor bool     `json:"anyActor,omitempty" jsonschema_description:"Also for other actors."`
}

// entries returns the chain, or one entry for a document without a chain.
func (a Approvals) entries() []ChainEntry {
	if len(a.Chain) > 0 {
		return a.Chain
	}
	return []ChainEntry{{Approvers: a.Approvers, Quorum: a.Quorum}}
}
