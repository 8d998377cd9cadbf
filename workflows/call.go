package workflows

import (
	"bytes"
	"encoding/json"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// call is the state of one workflow. Byte slices in it are never written into:
// a change replaces them.
type call struct {
	raw       converter.RawValue
	startedAt time.Time
	// waited is the time that people took; the deadline does not count it.
	waited time.Duration
	// waits is since when they take more of it.
	waits time.Time

	admitted     AdmitOut
	plan         hook.Plan
	epoch        int
	rounds       Rounds
	budgets      hook.Budgets
	policyDigest string
	// kills are the kill switches as they were read with policyDigest, and
	// connection is how the call's connection stood then.
	kills      []hook.Kill
	connection *hook.Connection
	toolDigest string
	effect     toolspec.Effect
	risk       toolspec.Risk

	args, safeArgs json.RawMessage
	argsHistory    []json.RawMessage
	// safeHistory is what may be shown of argsHistory: nil of what is not known.
	safeHistory   []json.RawMessage
	output        json.RawMessage
	outputHistory []json.RawMessage
	// shown is what records may show of outputHistory: not what a hook at
	// willRedactOutput took out, nor what a later stage hid.
	shown     []json.RawMessage
	challenge bool
	source    toolspec.Source
	cached    json.RawMessage
	// hit says that cached is of the result cache.
	hit bool
	// kept is what the result cache is to have of this call.
	kept     *Kept
	data     []hook.Entry
	bindings []hook.Binding
	// needs are the stages on demand that the gate wants run.
	needs      []hook.Stage
	deltaBytes int
	failure    *hook.Failure
	approval   *hook.GrantedApproval
	// inputDone says that the input stages have run; they run once.
	inputDone bool
	// argsChanged says that the arguments were changed since they were judged.
	argsChanged bool
	attempt     int
	// disagree is how long the call waits next where workers disagree about its
	// tool; it grows over all attempts.
	disagree time.Duration

	// repaired says that the arguments were mended once, which stays true whatever
	// becomes of them; noSchema that nothing has checked them.
	repaired, noSchema bool
	// hydrations wait to be recorded, and hydrated counts all that there were.
	hydrations []Hydration
	hydrated   int

	events []StageEvent
	tried  []AttemptEvent
	// undispatched are dispatches whose claim may stand although the tool did not
	// run.
	undispatched []int
	// cleared is the last dispatch of those that are known to have had no effect,
	// or that a person wants repeated all the same.
	cleared int
	// leasedAt is when the call last asked for places at semaphores.
	leasedAt time.Time
	// unleased is how long the call waits before it asks once more for what expired.
	unleased time.Duration
	// revoked is why an attempt was cancelled whose connection was taken back.
	revoked *hook.Failure
	// last is how the last attempt failed, where it may have had an effect.
	last    *outcome
	audit   []hook.AuditEntry
	stage   string
	status  toolspec.Status
	pending *toolspec.ApprovalView
	// awaits is what the call lacks while it waits for capacity.
	awaits   string
	upserted toolspec.Status

	inbox inbox
}

func newCall(ctx workflow.Context, raw converter.RawValue) *call {
	return &call{raw: raw, startedAt: workflow.Now(ctx), disagree: missingDelay, unleased: missingDelay, status: toolspec.StatusRunning, stage: nameAdmit}
}

// input is the workflow's input as bytes with their encoding.
func (c *call) input() (data []byte, encoding string) {
	payload := c.raw.Payload()
	return payload.GetData(), string(payload.GetMetadata()[converter.MetadataEncoding])
}

// ending is how a call ends: with a failure, with a value, or with the result
// that the record already holds.
type ending struct {
	failure   *hook.Failure
	outputRef string
	// settledBy is the request by which a person settled the call as done: there is
	// no value to shape.
	settledBy string
	recorded  *toolspec.Result
}

func failed(f *hook.Failure) ending {
	if f == nil { // no failure would be a success
		f = &hook.Failure{Code: toolspec.CodeInternal}
	}
	return ending{failure: f}
}

func failedWith(code toolspec.Code, message string) ending {
	return failed(&hook.Failure{Code: code, SafeMessage: message})
}

// facts is what a stage may know now.
func (c *call) facts(ctx workflow.Context, round int) hook.Facts {
	return hook.Facts{
		InvocationID: c.admitted.InvocationID, ToolID: c.admitted.ToolID, ToolCallID: c.admitted.ToolCallID,
		Context: c.admitted.Context, Submitter: c.admitted.Submitter, Effect: c.effect, Risk: c.risk, ToolDigest: c.toolDigest,
		PolicyDigest: c.policyDigest, InputDigest: c.admitted.InputDigest,
		Epoch: c.epoch, Round: round, Attempt: c.attempt,
		Args: c.args, SafeArgs: c.safeArgs, ArgsHistory: c.argsHistory,
		Output: c.output, OutputHistory: c.outputHistory, Challenge: c.challenge, Source: c.source,
		Cached: c.cached, Hit: c.hit, Data: c.data, Bindings: c.bindings, Failure: c.failure, Approval: c.approval,
		Attempts: c.attempt, AuditIDs: c.auditIDs(),
		Repaired: c.repaired, NoSchema: c.noSchema,
		Kills: c.kills, Connection: c.connection, StartedAtMs: c.startedAt.UnixMilli(), NowMs: workflow.Now(ctx).UnixMilli(), RemainingMs: c.remaining(ctx).Milliseconds(),
	}
}

func (c *call) auditIDs() []string {
	ids := make([]string, len(c.audit))
	for i := range c.audit {
		ids[i] = toolspec.AuditID(c.admitted.InvocationID, i+1)
	}
	return ids
}

// setArgs replaces the arguments and keeps the old ones in the history. safe is
// what may be shown of them; nil where that is not known yet.
func (c *call) setArgs(args, safe json.RawMessage) {
	c.args, c.safeArgs = args, safe
	c.argsHistory = append(c.argsHistory[:len(c.argsHistory):len(c.argsHistory)], args)
	c.safeHistory = append(c.safeHistory[:len(c.safeHistory):len(c.safeHistory)], safe)
}

// show says what may be shown of the arguments as they are.
func (c *call) show(safe json.RawMessage) {
	c.safeArgs = safe
	if n := len(c.safeHistory); n > 0 {
		c.safeHistory = append(c.safeHistory[:n-1:n-1], safe)
	}
}

func (c *call) setOutput(output json.RawMessage) {
	c.output = output
	c.outputHistory = append(c.outputHistory[:len(c.outputHistory):len(c.outputHistory)], output)
	if n := len(c.shown); n == 0 || !bytes.Equal(c.shown[n-1], output) {
		c.shown = append(c.shown[:n:n], output)
	}
}

// remaining is what is left of the deadline, at least a moment so that a step
// can say that it is over.
func (c *call) remaining(ctx workflow.Context) time.Duration {
	deadline := time.Duration(c.budgets.DeadlineMs) * time.Millisecond
	return max(deadline-(workflow.Now(ctx).Sub(c.startedAt)-c.waited), time.Millisecond)
}
