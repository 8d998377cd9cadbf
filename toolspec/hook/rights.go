package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Each struct in this file is a right of hooks: a group of methods. The views embed the structs of the
// rights that hooks have at their stages.

// reads lets a hook read the data of the call.
type reads struct{ c *core }

// InvocationID returns the id of the call.
func (r reads) InvocationID() string { return r.c.facts.InvocationID }

// ToolID returns the id of the tool.
func (r reads) ToolID() string { return r.c.facts.ToolID }

// ToolCallID returns the caller's id of the call.
func (r reads) ToolCallID() string { return r.c.facts.ToolCallID }

// Context returns the context of the call: tenant, run, actor, subject and other ids.
func (r reads) Context() toolspec.Context {
	ctx := r.c.facts.Context
	ctx.ToolIDs = slices.Clone(ctx.ToolIDs)
	return ctx
}

// Submitter returns the key of the trusted submitter who vouches for the subject, or
// the reason why nobody does. Both are empty if there is no subject.
func (r reads) Submitter() (keyID, fault string) {
	if s := r.c.facts.Submitter; s != nil {
		return s.KeyID, s.Fault
	}
	return "", ""
}

// Connection returns the state of the call's connection; the state has no grants if the call names no
// connection, or if the connection does not exist.
func (r reads) Connection() Connection {
	return r.c.facts.Connection.clone().Value()
}

// Effect returns the tool's effect.
func (r reads) Effect() toolspec.Effect { return r.c.facts.Effect }

// Risk returns the tool's risk.
func (r reads) Risk() toolspec.Risk { return r.c.facts.Risk }

// ToolDigest returns the digest of the tool's contract.
func (r reads) ToolDigest() string { return r.c.facts.ToolDigest }

// PolicyDigest returns the digest of the policy that judges this round.
func (r reads) PolicyDigest() string { return r.c.facts.PolicyDigest }

// Epoch returns the epoch of the call. The record refuses a write with an older epoch.
func (r reads) Epoch() int { return r.c.facts.Epoch }

// Round returns the number of the deliberate run of this stage, from 1.
func (r reads) Round() int { return r.c.facts.Round }

// IdempotencyKey returns a key for this round of this hook at this stage of the call. A hook runs at
// least once, and a run after a crash has the same key. If a service ignores a request with a key that
// it has seen before, the effect happens once.
func (r reads) IdempotencyKey() string {
	return fmt.Sprintf("%s/%s/%s/%d", r.c.facts.InvocationID, r.c.stage, r.c.hook, r.c.facts.Round)
}

// StartedAt returns the time at which the call started, by the workflow's clock.
func (r reads) StartedAt() time.Time { return time.UnixMilli(r.c.facts.StartedAtMs).UTC() }

// Now returns the time at which the stage was scheduled, by the workflow's clock.
func (r reads) Now() time.Time { return time.UnixMilli(r.c.facts.NowMs).UTC() }

// Remaining returns the time from Now until the call's deadline.
func (r reads) Remaining() time.Duration {
	return time.Duration(r.c.facts.RemainingMs) * time.Millisecond
}

// Data reads an entry of the scratchpad into v, and reports whether there is an entry with the key.
func (r reads) Data(key string, v any) (bool, error) {
	for _, list := range [][]Entry{r.c.delta.Data, r.c.facts.Data} {
		for _, e := range list {
			if e.Key == key {
				return true, json.Unmarshal(e.Value, v)
			}
		}
	}
	return false, nil
}

// Providers returns the argument for provide.Get and provide.TryGet, which find the instances of
// the call.
func (r reads) Providers() *provide.Providers { return r.c.providers.With(r.c.delta.Bindings) }

// Varies reports whether this call, or its session, has instances of its own.
func (r reads) Varies() bool { return len(r.c.facts.Bindings) > 0 || r.c.providers.Vary() }

// binds lets a hook bind recipes to the call or to its session.
type binds struct{ c *core }

// Bind binds recipes for this call.
func (b binds) Bind(recipes ...provide.Recipe) { b.BindIn(provide.Request, recipes...) }

// BindIn binds recipes in a scope: provide.Request, or provide.Session for all calls of the session
// from now on. A later binding of the same token replaces an earlier binding. Recipes cannot be bound in
// provide.Global: such a call is an error of the hook.
func (b binds) BindIn(scope provide.Scope, recipes ...provide.Recipe) {
	switch {
	case scope == provide.Session && b.c.facts.Context.SessionID == "":
		b.c.fail(fmt.Errorf("the call has no session to bind in"))
		return
	case scope != provide.Request && scope != provide.Session:
		b.c.fail(fmt.Errorf("nothing can be bound in the scope %q: it is filled when a worker starts", scope))
		return
	}
	for _, r := range recipes {
		if err := r.Check(); err != nil {
			b.c.fail(err)
			return
		}
		r.Args = slices.Clone(r.Args)
		b.c.delta.Bindings = provide.Bound(b.c.delta.Bindings, provide.Binding{Scope: scope, Recipe: r})
	}
}

// scratches lets a hook write the scratchpad, which all later stages share. It
// is recorded in clear: never put a secret into it.
type scratches struct{ c *core }

// Put writes an entry: a key of at most 200 bytes, and a value of at most 64 KiB of JSON that
// contains nothing with the shape of a secret.
func (s scratches) Put(key string, v any) {
	if key == "" || len(key) > maxKey {
		s.c.fail(fmt.Errorf("a scratchpad key has 1–%d bytes", maxKey))
		return
	}
	raw := s.c.encode("a scratchpad value", v)
	if raw == nil {
		return
	}
	if toolspec.SecretName(key) || toolspec.SecretJSON(raw) {
		s.c.fail(fmt.Errorf("a scratchpad entry has the shape of a secret"))
		return
	}
	for i, e := range s.c.delta.Data {
		if e.Key == key {
			s.c.delta.Data[i].Value = raw
			return
		}
	}
	s.c.delta.Data = append(s.c.delta.Data, Entry{Key: key, Value: raw})
}

// readsArgs lets a hook see the arguments.
type readsArgs struct{ c *core }

// Args returns the current arguments.
func (r readsArgs) Args() json.RawMessage { return slices.Clone(r.c.args()) }

// SafeArgs returns the arguments as approvers and records see them.
func (r readsArgs) SafeArgs() json.RawMessage { return slices.Clone(r.c.safeArgs()) }

// ArgsHistory returns the hydrated arguments and every later version.
func (r readsArgs) ArgsHistory() []json.RawMessage { return cloneAll(r.c.facts.ArgsHistory) }

// Repaired reports whether the arguments were repaired.
func (r readsArgs) Repaired() bool { return r.c.facts.Repaired }

// NoSchema reports whether the tool has no schema, so that nothing has checked the arguments.
func (r readsArgs) NoSchema() bool { return r.c.facts.NoSchema }

// Approved reports whether the call has an approval: a decision of a person, or a remembered
// approval. It stays true in all later rounds.
func (r readsArgs) Approved() bool { return r.c.facts.Approval != nil }

// setsArgs lets a hook change the arguments.
type setsArgs struct{ c *core }

// SetArgs replaces the arguments. Pawl validates the new arguments before it asks a person and before
// the tool runs.
func (s setsArgs) SetArgs(v any) {
	if raw := s.c.encode("the arguments", v); raw != nil {
		s.c.delta.Args = raw
	}
}

// SetSafeArgs replaces the form of the arguments that approvers and records see. The arguments of the
// tool do not change.
func (s setsArgs) SetSafeArgs(v any) {
	if raw := s.c.encode("the safe arguments", v); raw != nil {
		s.c.delta.SafeArgs = raw
	}
}

// aborts lets a hook stop the call.
type aborts struct{ c *core }

// Abort ends the call with the code `aborted`. The reason reaches the caller:
// at most 500 bytes, safe to show. The hook must return the error of Abort.
func (a aborts) Abort(reason string, options ...AbortOption) error {
	f := Failure{Code: toolspec.CodeAborted, SafeMessage: a.c.reason(reason), Details: &toolspec.Details{}}
	for _, o := range options {
		o(&f)
	}
	return a.c.setVerb(control{outcome: Failed, failure: &f})
}

// retries lets a hook end the call with the advice to make a new call later.
type retries struct{ c *core }

// RetryAfter ends the call with the code `rate_limited` and advises to make a
// new call after d. The hook must return the error of RetryAfter.
func (r retries) RetryAfter(d time.Duration, reason string) error {
	return r.c.setVerb(control{outcome: Failed, failure: &Failure{
		Code: toolspec.CodeRateLimited, SafeMessage: r.c.reason(reason), RetryAfterMs: milliseconds(d),
	}})
}

// waits lets a hook delay the call.
type waits struct{ c *core }

// WaitUntil delays the call until t, without using up its deadline. Then the gate judges the
// call again, with this hook; an approval that the call has stays valid. A recheck may run
// the gate earlier. The reason is shown to people: at most 500 bytes, safe to show. t is at
// most MaxWait after Now. WaitUntil returns nil if t is not after Now. The hook must return the
// error of WaitUntil.
//
// A call whose plan is of a version before 4 does not wait: it ends with the code
// `rate_limited`, and advises to make a new call at t.
func (w waits) WaitUntil(t time.Time, reason string) error {
	now := time.UnixMilli(w.c.facts.NowMs)
	switch d := t.Sub(now); {
	case d <= 0:
		return nil
	case d > MaxWait:
		w.c.fail(fmt.Errorf("a call waits at most %v", MaxWait))
	}
	return w.c.setVerb(control{outcome: Waited, wait: &Wait{Reason: w.c.reason(reason), UntilMs: t.UnixMilli(), Code: toolspec.CodeRateLimited}})
}

// responds lets a hook answer in the tool's place.
type responds struct{ c *core }

// Respond answers the call with a value, which Pawl redacts and checks as a value of the tool.
// The hook must return the error of Respond.
func (r responds) Respond(v any) error {
	return r.c.setVerb(control{outcome: Responded, value: r.c.encodeOutput("the response", v)})
}

// RespondChallenge answers the call with a value that is not a result of the tool, such as a
// consent challenge: Pawl does not check it against the tool's schema or allowlist, and does not
// cache it. The hook must return the error of RespondChallenge.
func (r responds) RespondChallenge(v any) error {
	return r.c.setVerb(control{outcome: Responded, value: r.c.encode("the challenge", v), challenge: true})
}

// asks lets a hook demand a person's approval.
type asks struct{ c *core }

// RequireApproval makes the call wait for an approval. The hook must return the error of
// RequireApproval. The stage runs again after the approval, and Approved is then true. A hook that
// asks again for an approved call ends the call with approval_stale. Approvals that Approvals.Check
// refuses are an error of the hook, and so are Approvals of a hook without NamesApprovers.
func (a asks) RequireApproval(ask Ask) error {
	ask.Message, ask.Hook, ask.Approvals = a.c.reason(ask.Message), a.c.hook, ask.Approvals.clone()
	if err := ask.Approvals.Check(); err != nil {
		a.c.fail(fmt.Errorf("approvals: %w", err))
	}
	if ask.Approvals != nil && !a.c.namesApprovers {
		a.c.fail(errors.New("the hook names approvers: make it with hook.NamesApprovers()"))
	}
	return a.c.setVerb(control{outcome: Asked, ask: &ask})
}

// tightens lets a hook narrow the call's budgets and say which rule decided.
type tightens struct{ c *core }

// Tighten narrows the budgets; a field that is wider than before changes nothing.
func (t tightens) Tighten(b Budgets) {
	if t.c.delta.Budgets == nil {
		t.c.delta.Budgets = &Budgets{}
	}
	*t.c.delta.Budgets = t.c.delta.Budgets.Tighten(b)
}

// Explain records the rule that decided.
func (t tightens) Explain(rule string) { t.c.delta.Rule = clip(rule, maxReason) }

// readsOutput lets a hook see the value, its history and its source. They are redacted, except for a value that an earlier
// hook has set at the same stage.
type readsOutput struct{ c *core }

// Output returns the current value. The stages that shape the value get the whole value. Later stages
// get the short form of a large value. OutputInfo says whether the value is shortened.
func (r readsOutput) Output() json.RawMessage { return slices.Clone(r.c.output()) }

// OutputInfo describes the value that the call had before the hooks of this stage.
func (r readsOutput) OutputInfo() toolspec.OutputInfo { return r.c.facts.OutputInfo }

// OutputHistory returns the redacted value of the tool and every later version.
func (r readsOutput) OutputHistory() []json.RawMessage { return cloneAll(r.c.facts.OutputHistory) }

// Source says whether the value was executed, cached or responded.
func (r readsOutput) Source() toolspec.Source { return r.c.facts.Source }

// setsOutput lets a hook change the value.
type setsOutput struct{ c *core }

// SetOutput replaces the value. The new value has at most twice the bytes that the result of a tool may
// have. Pawl applies the allowlist and the masks of the tool to the new value. After that, the value must
// be within the bound of the result.
func (s setsOutput) SetOutput(v any) {
	if raw := s.c.encodeOutput("the output", v); raw != nil {
		s.c.delta.Output = raw
	}
}

// readsEnd lets a hook see how the call ended.
type readsEnd struct{ c *core }

// Failure returns why the call failed, or nil.
func (r readsEnd) Failure() *Failure { return r.c.facts.Failure.clone() }

// Attempts returns the number of attempts so far.
func (r readsEnd) Attempts() int { return r.c.facts.Attempts }

// AuditIDs returns the ids of the audit entries made so far.
func (r readsEnd) AuditIDs() []string { return slices.Clone(r.c.facts.AuditIDs) }

// Approval returns the approval that let the call run, or nil.
func (r readsEnd) Approval() *GrantedApproval { return r.c.facts.Approval.clone() }

// records lets a hook add to the audit trail.
type records struct{ c *core }

// Record adds an entry, which settle writes to the audit trail. The detail must not hold a secret, and the
// kind must not be a kind that Pawl writes itself (toolspec.OwnEvent).
func (r records) Record(kind string, detail any) {
	raw := r.c.encode("the audit detail", detail)
	switch {
	case raw == nil:
	case toolspec.OwnEvent(kind):
		r.c.fail(fmt.Errorf("an audit entry of the kind %s is written by Pawl alone", kind))
	case toolspec.SecretJSON(raw):
		r.c.fail(fmt.Errorf("an audit detail has the shape of a secret"))
	default:
		r.c.delta.Audit = append(r.c.delta.Audit, AuditEntry{Kind: clip(kind, maxCode), Detail: raw})
	}
}

func (c *core) args() json.RawMessage     { return latest(c.delta.Args, c.facts.Args) }
func (c *core) safeArgs() json.RawMessage { return latest(c.delta.SafeArgs, c.facts.SafeArgs) }
func (c *core) output() json.RawMessage   { return latest(c.delta.Output, c.facts.Output) }

// latest returns changed, or before if changed is nil.
func latest(changed, before json.RawMessage) json.RawMessage {
	if changed != nil {
		return changed
	}
	return before
}

func cloneAll(list []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, raw := range list {
		out[i] = slices.Clone(raw)
	}
	return out
}
