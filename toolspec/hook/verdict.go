package hook

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Outcome says how a stage ends. Workflows of an older release cannot handle a new outcome.
type Outcome string

// The outcomes.
const (
	// Continue lets the call continue.
	Continue Outcome = ""
	// Responded answers the call with a value in place of the tool's value.
	Responded Outcome = "respond"
	// Failed ends the call on its error path.
	Failed Outcome = "fail"
	// Asked says that the call needs a person's approval before it continues.
	Asked Outcome = "ask"
	// Missing says that this worker lacks a part of the call, such as a hook or the tool.
	Missing Outcome = "missing"
	// Waited says that the stage must run again later: the call must wait for a resource that is in
	// use, or until a time that a hook of the gate has named.
	Waited Outcome = "wait"
	// Superseded says that the record has a newer epoch; the workflow must admit the call again.
	Superseded Outcome = "superseded"
)

// Verdict is the answer of the activity of a stage.
type Verdict struct {
	Outcome Outcome         `json:"outcome,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	// ValueInfo describes Value.
	ValueInfo toolspec.OutputInfo `json:"valueInfo,omitzero"`
	// Challenge says that Value is a response that is not a result of the tool: Value is neither
	// checked against the schema nor cached.
	Challenge bool     `json:"challenge,omitempty"`
	Failure   *Failure `json:"failure,omitempty"`
	Ask       *Ask     `json:"ask,omitempty"`
	Wait      *Wait    `json:"wait,omitempty"`
	// Asks are the questions of all hooks in PartApprovers, in their order. Ask is the first.
	Asks []Ask `json:"asks,omitempty"`
	// By names the hook or the step of Pawl's own that decided, or the missing part.
	By string `json:"by,omitempty"`
	// Unread says that this worker cannot read the version of policy that the input names, or has no
	// definition of the tool that fits this version. Before the next try, the workflow reads which version
	// is active then.
	Unread bool  `json:"unread,omitempty"`
	Delta  Delta `json:"delta,omitzero"`
	// Permit lets the attempts of the call run. Only the last stage of the gate gives a permit.
	Permit json.RawMessage `json:"permit,omitempty"`
	// Notes are failures that did not change the outcome.
	Notes []Note `json:"notes,omitempty"`
	// DurationUs is the time spent in the stage, in microseconds.
	DurationUs int64 `json:"durationUs"`
}

// Delta holds the changes of a stage.
type Delta struct {
	Args     json.RawMessage `json:"args,omitempty"`
	SafeArgs json.RawMessage `json:"safeArgs,omitempty"`
	// Package activities/output redacts and shortens Output and Cached before they leave the worker.
	// OutputInfo and CachedInfo describe them.
	Output     json.RawMessage     `json:"output,omitempty"`
	OutputInfo toolspec.OutputInfo `json:"outputInfo,omitzero"`
	Cached     json.RawMessage     `json:"cached,omitempty"`
	CachedInfo toolspec.OutputInfo `json:"cachedInfo,omitzero"`
	// Hit says that Cached comes from the result cache. Cached then answers the call, unless a hook
	// calls Ignore.
	Hit bool `json:"hit,omitempty"`
	// Ignored says that a hook refused the value of the result cache: the tool runs instead.
	Ignored bool `json:"ignored,omitempty"`
	// Entry says how settle keeps the value in the result cache; nil keeps nothing.
	Entry   *CacheEntry `json:"entry,omitempty"`
	Data    []Entry     `json:"data,omitempty"`
	Budgets *Budgets    `json:"budgets,omitempty"`
	// Bindings are the recipes that the hooks have bound to the call or to its session.
	Bindings []provide.Binding `json:"bindings,omitempty"`
	// Rule is the policy rule that explains the verdict.
	Rule  string       `json:"rule,omitempty"`
	Audit []AuditEntry `json:"audit,omitempty"`
	// Needs are the on-demand stages that the gate demands for the call.
	Needs []Stage `json:"needs,omitempty"`
}

// clone returns a copy. A hook that changes the copy through its view does not change d.
func (d Delta) clone() Delta {
	d.Data, d.Audit, d.Needs = slices.Clone(d.Data), slices.Clone(d.Audit), slices.Clone(d.Needs)
	if d.Budgets != nil {
		b := *d.Budgets
		d.Budgets = &b
	}
	d.Entry = d.Entry.clone()
	return d
}

// Size returns the number of bytes that the delta adds to the history, without short names and numbers.
func (d Delta) Size() int {
	n := len(d.Args) + len(d.SafeArgs) + len(d.Output) + len(d.Cached)
	for _, e := range d.Data {
		n += len(e.Key) + len(e.Value)
	}
	for _, b := range d.Bindings {
		n += len(b.Token) + len(b.Factory) + len(b.Args)
	}
	for _, a := range d.Audit {
		n += len(a.Kind) + len(a.Detail)
	}
	if d.Entry != nil {
		for _, tag := range d.Entry.Tags {
			n += len(tag)
		}
	}
	return n
}

// Size returns the number of bytes that the verdict adds to the history, without short texts.
func (v Verdict) Size() int {
	n := v.Delta.Size() + len(v.Value)
	if v.Ask != nil && len(v.Asks) == 0 {
		n += v.Ask.Approvals.size()
	}
	for _, ask := range v.Asks {
		n += ask.Approvals.size()
	}
	return n
}

// Failure ends a call: a code of the closed table with safe text.
type Failure struct {
	Code         toolspec.Code     `json:"code"`
	SafeMessage  string            `json:"safeMessage,omitempty"`
	Details      *toolspec.Details `json:"details,omitempty"`
	HTTPStatus   int               `json:"httpStatus,omitempty"`
	RetryAfterMs int64             `json:"retryAfterMs,omitempty"`
}

// Result returns the result of a call that ends with the failure. It has neither the
// identity of the call nor its times.
func (f *Failure) Result() toolspec.Result {
	r := toolspec.Failure(f.Code, f.SafeMessage, f.Details)
	r.RetryAfterMs = f.RetryAfterMs
	if f.HTTPStatus != 0 {
		r.HTTPStatus = f.HTTPStatus
	}
	return r
}

func (f *Failure) clone() *Failure {
	if f == nil {
		return nil
	}
	c := *f
	if f.Details != nil {
		d := *f.Details
		d.Problems = slices.Clone(d.Problems)
		c.Details = &d
	}
	return &c
}

// Ask asks for an approval. Policy says which people may decide, and until when. Approvals can add people and
// shorten the time.
type Ask struct {
	// Message says to the approver why the call needs an approval; safe to show.
	Message string `json:"message,omitempty"`
	Rule    string `json:"rule,omitempty"`
	// Approvals add people who have to approve, or shorten the lifetime of the request. Only a
	// hook with NamesApprovers may set Approvals.
	Approvals *Approvals `json:"approvals,omitempty"`
	// Hook is the name of the hook that asks; empty if policy asks. RequireApproval sets it.
	Hook string `json:"hook,omitempty"`
}

// Wait lets a call wait until a signal `recheck` or a timer. Then the gate judges the call again,
// and the stage runs again.
type Wait struct {
	// Reason tells people what the call waits for; safe to show.
	Reason string `json:"reason,omitempty"`
	// RetryMs is the time until the timer fires, in milliseconds.
	RetryMs int64 `json:"retryMs"`
	// DeadlineMs is how long the stage may wait in all, in milliseconds; 0 is the
	// deadline of the call.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
	// Code is the code of the result if the call ends because the time for the wait is over.
	Code toolspec.Code `json:"code"`
	// RetryAfterMs is the retryAfterMs of this result.
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
	// GoOn says that the call continues without the resource when the time for the wait is over, instead of
	// ending.
	GoOn bool `json:"goOn,omitempty"`
	// UntilMs is the time that a hook has named with WaitUntil, in milliseconds since
	// 1970-01-01 UTC; 0 for other waits. The deadline of the call does not count the wait.
	UntilMs int64 `json:"untilMs,omitempty"`
}

// CacheEntry says under which key, for how long and with which tags the result cache keeps a value.
type CacheEntry struct {
	// Key is the hexadecimal SHA-256 of everything that the value depends on.
	Key string `json:"key"`
	// TTLMs counts from settle, by the database's clock.
	TTLMs int64    `json:"ttlMs"`
	Tags  []string `json:"tags,omitempty"`
}

func (e *CacheEntry) clone() *CacheEntry {
	if e == nil {
		return nil
	}
	c := *e
	c.Tags = slices.Clone(e.Tags)
	return &c
}

// Budgets bound a call. A stage may only tighten the budgets; a field of 0 changes nothing.
type Budgets struct {
	// MaxRuntimeMs bounds one attempt.
	MaxRuntimeMs int64 `json:"maxRuntimeMs,omitempty"`
	// MaxResultBytes bounds the redacted result.
	MaxResultBytes int `json:"maxResultBytes,omitempty"`
	// DeadlineMs bounds the whole call, without the time that it waits for people.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
	// MaxAttempts bounds the attempts.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// RetryDelayMs is the pause before the second attempt. Each later pause is twice as long, up to
	// RetryDelayMaxMs. Of two budgets, Tighten takes the longer pause.
	RetryDelayMs int64 `json:"retryDelayMs,omitempty"`
	// RetryDelayMaxMs bounds each pause. Of two budgets, Tighten takes the higher bound.
	RetryDelayMaxMs int64 `json:"retryDelayMaxMs,omitempty"`
	// ParkUnknownMs is how long a call whose outcome is unknown waits for a person; 0 means that it
	// does not wait. Of two budgets, Tighten takes the longer wait.
	ParkUnknownMs int64 `json:"parkUnknownMs,omitempty"`
}

// Tighten returns, for each field, the tighter value of the two budgets.
func (b Budgets) Tighten(by Budgets) Budgets {
	return Budgets{
		MaxRuntimeMs:   tighter(b.MaxRuntimeMs, by.MaxRuntimeMs),
		MaxResultBytes: tighter(b.MaxResultBytes, by.MaxResultBytes),
		DeadlineMs:     tighter(b.DeadlineMs, by.DeadlineMs),
		MaxAttempts:    tighter(b.MaxAttempts, by.MaxAttempts),

		RetryDelayMs:    max(b.RetryDelayMs, by.RetryDelayMs),
		RetryDelayMaxMs: max(b.RetryDelayMaxMs, by.RetryDelayMaxMs),
		ParkUnknownMs:   max(b.ParkUnknownMs, by.ParkUnknownMs),
	}
}

func tighter[N int | int64](a, b N) N {
	if b > 0 && (a == 0 || b < a) {
		return b
	}
	return a
}

// AuditEntry is an event that a hook adds to the audit trail. Settle writes it.
type AuditEntry struct {
	Kind   string          `json:"kind"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

// Note is a failure at a stage that does not change the outcome of the stage.
type Note struct {
	Hook   string `json:"hook"`
	Reason string `json:"reason"`
}
