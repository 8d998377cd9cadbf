package hook

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Facts is the data of a call that a stage gets. The workflow sends it to the worker as bytes, so a
// hook can change only its own copy.
type Facts struct {
	InvocationID string           `json:"invocationId"`
	ToolID       string           `json:"toolId"`
	ToolCallID   string           `json:"toolCallId"`
	Context      toolspec.Context `json:"context"`
	// Submitter says which submitter vouches for the subject, or why nobody does; nil without a subject.
	Submitter    *Submitter      `json:"submitter,omitempty"`
	Effect       toolspec.Effect `json:"effect,omitempty"`
	Risk         toolspec.Risk   `json:"risk,omitempty"`
	ToolDigest   string          `json:"toolDigest,omitempty"`
	PolicyDigest string          `json:"policyDigest,omitempty"`
	InputDigest  string          `json:"inputDigest,omitempty"`
	// Epoch is the epoch of the call. The record refuses a write with an older epoch.
	Epoch int `json:"epoch,omitempty"`
	// Round counts the deliberate runs of this stage, from 1. A run that Temporal repeats has the same number, so that it writes nothing
	// twice.
	Round   int `json:"round"`
	Attempt int `json:"attempt,omitempty"`
	// Args are absent before hydrate.
	Args     json.RawMessage `json:"args,omitempty"`
	SafeArgs json.RawMessage `json:"safeArgs,omitempty"`
	// ArgsHistory begins with the hydrated arguments; each SetArgs appends a version.
	ArgsHistory []json.RawMessage `json:"argsHistory,omitempty"`
	// Output is the redacted value. The input of an activity has a large value in its short form only, and
	// OutputInfo says so; the stages that shape the output load the whole value. OutputHistory is redacted too.
	Output        json.RawMessage     `json:"output,omitempty"`
	OutputInfo    toolspec.OutputInfo `json:"outputInfo,omitzero"`
	OutputHistory []json.RawMessage   `json:"outputHistory,omitempty"`
	Cached        json.RawMessage     `json:"cached,omitempty"`
	CachedInfo    toolspec.OutputInfo `json:"cachedInfo,omitzero"`
	// Hit says that Cached comes from the result cache, and not from a hook.
	Hit bool `json:"hit,omitempty"`
	// Data is the scratchpad, in the order of the first writes.
	Data []Entry `json:"data,omitempty"`
	// Bindings are the recipes of the instances that the call is provided with.
	Bindings []provide.Binding `json:"bindings,omitempty"`
	// Failure is the failure of the call; nil if the call has not failed.
	Failure *Failure        `json:"failure,omitempty"`
	Source  toolspec.Source `json:"source,omitempty"`
	// Challenge says that the output is a question to the caller instead of a value of the tool. It is
	// neither validated nor cached.
	Challenge bool             `json:"challenge,omitempty"`
	Approval  *GrantedApproval `json:"approval,omitempty"`
	// Attempts counts the attempts so far.
	Attempts    int      `json:"attempts,omitempty"`
	AuditIDs    []string `json:"auditIds,omitempty"`
	StartedAtMs int64    `json:"startedAtMs"`
	NowMs       int64    `json:"nowMs"`
	// RemainingMs is the time until the call's deadline.
	RemainingMs int64 `json:"remainingMs,omitempty"`
	// Kills are the kill switches that are on for the call's tenant and tool.
	Kills []Kill `json:"kills,omitempty"`
	// Repaired says that Pawl corrected the arguments.
	Repaired bool `json:"repaired,omitempty"`
	// NoSchema says that no schema has checked the arguments.
	NoSchema bool `json:"noSchema,omitempty"`
	// ScriptArg names the argument that has a script of a shell; empty if the tool has none.
	ScriptArg string `json:"scriptArg,omitempty"`
	// Discovered has the digests of the tool's definition and of its review; nil if the definition
	// does not come from an MCP server.
	Discovered *toolspec.Discovered `json:"discovered,omitempty"`
	// Connection is the state of the call's connection. It is nil if the call names no connection. If
	// the connection does not exist, only Requested is set.
	Connection *Connection `json:"connection,omitempty"`
}

// Connection is the state of a connection, and the grants that a call has to it. It holds no
// credential. A caller without a grant learns nothing about the connection.
type Connection struct {
	// Requested says that the call's own list of allowed connections names it.
	Requested bool `json:"requested,omitempty"`
	// Generation is a number that rises with each change after which the connection may be another
	// account.
	Generation int `json:"generation"`
	// Status is active, needs_reauth or revoked.
	Status string `json:"status"`
	// Scopes name the actions that the account may do at the service.
	Scopes []string          `json:"scopes,omitempty"`
	Grants []ConnectionGrant `json:"grants,omitempty"`
}

// Value returns the connection. If n is nil, it returns a connection without grants.
func (n *Connection) Value() Connection {
	if n == nil {
		return Connection{}
	}
	return *n
}

// ConnectionGrant is a valid grant to the actor or subject of the call, or to a role.
type ConnectionGrant struct {
	Grantee string `json:"grantee"`
	// Held says that relations give the role Grantee to the actor or subject. If it is false, the gate
	// also looks in the policy, which can give the role too.
	Held   bool     `json:"held,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
}

func (n *Connection) clone() *Connection {
	if n == nil {
		return nil
	}
	c := *n
	c.Scopes, c.Grants = slices.Clone(n.Scopes), slices.Clone(n.Grants)
	for i, g := range c.Grants {
		c.Grants[i].Scopes = slices.Clone(g.Scopes)
	}
	return &c
}

// Kill is a kill switch that is on.
type Kill struct {
	ID int64 `json:"id"`
	// Effect is the effect of the calls that the kill switch stops. Empty means every effect.
	Effect toolspec.Effect `json:"effect,omitempty"`
	// Reason is safe to show.
	Reason string `json:"reason"`
}

// Killed returns the kill switch that stops the call, or nil. It compares with the effect that the
// tool has now.
func (f Facts) Killed() *Kill {
	for i, k := range f.Kills {
		if k.Effect == "" || k.Effect == f.Effect {
			return &f.Kills[i]
		}
	}
	return nil
}

// clone returns a deep copy for a filter, because a filter may write into its Facts.
func (f Facts) clone() Facts {
	f.Context.ToolIDs = slices.Clone(f.Context.ToolIDs)
	f.Args, f.SafeArgs, f.Output, f.Cached = slices.Clone(f.Args), slices.Clone(f.SafeArgs), slices.Clone(f.Output), slices.Clone(f.Cached)
	f.ArgsHistory, f.OutputHistory = cloneAll(f.ArgsHistory), cloneAll(f.OutputHistory)
	f.AuditIDs, f.Failure = slices.Clone(f.AuditIDs), f.Failure.clone()
	f.Discovered = f.Discovered.Clone()
	if f.Submitter != nil {
		submitter := *f.Submitter
		f.Submitter = &submitter
	}
	f.Bindings, f.Kills, f.Connection = slices.Clone(f.Bindings), slices.Clone(f.Kills), f.Connection.clone()
	f.Data = slices.Clone(f.Data)
	for i, e := range f.Data {
		f.Data[i].Value = slices.Clone(e.Value)
	}
	for i, b := range f.Bindings {
		f.Bindings[i].Args = slices.Clone(b.Args)
	}
	f.Approval = f.Approval.clone()
	return f
}

// GrantedApproval is the approved request, with the content that it had when it was opened.
type GrantedApproval struct {
	ApprovalID string          `json:"approvalId"`
	Digest     string          `json:"digest"`
	Approver   string          `json:"approver"`
	ToolDigest string          `json:"toolDigest"`
	Effect     toolspec.Effect `json:"effect"`
	Risk       toolspec.Risk   `json:"risk"`
	RuleDigest string          `json:"ruleDigest"`
	// ConnectionID is the call's connection; empty for a call without a connection.
	ConnectionID string `json:"connectionId,omitempty"`
	// Generation is the [Connection.Generation] that the connection had when the request was opened.
	Generation int `json:"generation,omitempty"`
	// PreviewDigest is the previewDigest of the request; empty if the approval covers the arguments alone.
	PreviewDigest string `json:"previewDigest,omitempty"`
	// Asked is the digest of the policy rules that required the approval: a remembered approval counts
	// only for a later call with the same digest. It is empty in Facts.
	Asked string `json:"asked,omitempty"`
	// SubjectID is the subject of the call, for remembered approvals. It is empty in Facts.
	SubjectID string `json:"subjectId,omitempty"`
}

func (g *GrantedApproval) clone() *GrantedApproval {
	if g == nil {
		return nil
	}
	c := *g
	return &c
}

// Entry is a pair of the scratchpad.
type Entry struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// StageInput is the input of the activity of a stage.
type StageInput struct {
	Stage Stage `json:"stage"`
	// Own is the name of Pawl's own step in the recorded plan. A worker that has no such
	// step leaves the stage to another worker.
	Own string `json:"own,omitempty"`
	// Hooks are the names of hooks that the plan records, in the order in which they run.
	Hooks []string `json:"hooks"`
	// Part says which part of the stage to run.
	Part Part `json:"part,omitempty"`
	// Before is the verdict that PartBefore has returned. Only PartHooks gets it; nil if Pawl's step has
	// nothing to do for the call.
	Before *Verdict `json:"before,omitempty"`
	// PlanVersion is the version of the recorded plan. A worker that does not support this version
	// leaves the stage to another worker.
	PlanVersion int `json:"planVersion,omitempty"`
	// AnyWorker says that a worker without the tool of the call may judge the call. It is set once the tool
	// runs or has run: the call then does not move to workers with the tool, and a revocation must not wait
	// for such a worker.
	AnyWorker bool `json:"anyWorker,omitempty"`
	// BudgetMs is the time that all hooks have together if the stage is an activity of its own. Otherwise it
	// is 0.
	BudgetMs int64 `json:"budgetMs,omitempty"`
	// MaxResultBytes bounds the redacted values of the stage; 0 means the bound of the tool.
	MaxResultBytes int   `json:"maxResultBytes,omitempty"`
	Facts          Facts `json:"facts"`
	// Terms are the terms that the permit of the verdict has; nil at a stage that gives no permit, and
	// for a call in the local lane.
	Terms *Terms `json:"terms,omitempty"`
}

// Part is a part of a stage. A stage with durable hooks runs as PartBefore, inside the workflow task, and
// then as PartHooks, in a regular activity: the verdict of Pawl's own step must come from inside the
// workflow task. While a call waits for an approval, a recheck runs PartBefore alone if PartApprovers
// has run for the request.
type Part string

// The parts.
const (
	// WholeStage is Pawl's step and the hooks.
	WholeStage Part = ""
	// PartBefore is Pawl's step before the hooks.
	PartBefore Part = "before"
	// PartHooks is the hooks, and Pawl's step after them.
	PartHooks Part = "hooks"
	// PartApprovers is the hooks of Step.ApproverHooks, which say which people must approve. Pawl's step
	// does not run.
	PartApprovers Part = "hear"
)

// Terms are the hooks and bounds of every attempt of a call, from its plan and its budgets.
type Terms struct {
	// Around, WillExecute and DidExecute name the hooks around the tool.
	Around      []string `json:"around,omitempty"`
	WillExecute []string `json:"willExecute,omitempty"`
	DidExecute  []string `json:"didExecute,omitempty"`
	// Once says that a lost attempt of this call is not repeated, even if the tool now allows it: the
	// plan of the call was made when the tool did not allow it.
	Once bool `json:"once,omitempty"`
	// MaxRuntimeMs bounds one attempt, in milliseconds.
	MaxRuntimeMs int64 `json:"maxRuntimeMs"`
	// MaxResultBytes bounds the redacted value.
	MaxResultBytes int `json:"maxResultBytes"`
}

// Submitter says who vouches for the subject of a call, or why nobody does.
type Submitter struct {
	// KeyID names the key that signed the proof; empty if no proof counts.
	KeyID string `json:"keyId,omitempty"`
	// Fault says why nobody vouches for the subject. It is safe to show.
	Fault string `json:"fault,omitempty"`
}
