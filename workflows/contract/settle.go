package contract

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// CallAudit is the kind of the audit line that each call has.
const CallAudit = "invocation"

// SettleIn is the input of Settle, which closes the record in one round trip.
type SettleIn struct {
	InvocationID string          `json:"invocationId"`
	TenantID     string          `json:"tenantId"`
	Epoch        int             `json:"epoch"`
	Result       toolspec.Result `json:"result"`
	// ToolID is the tool of the call, for metrics. Workers of older releases leave it out.
	ToolID string `json:"toolId,omitempty"`
	// Effect is the effect of the tool, for metrics. Workers of older releases leave it out.
	Effect toolspec.Effect `json:"effect,omitempty"`
	// Holds says that the call may hold capacity, which Settle gives back. This run acquired it, or an earlier run
	// may have acquired it.
	Holds    bool            `json:"holds,omitempty"`
	SafeArgs json.RawMessage `json:"safeArgs,omitempty"`
	// InputHistory has every value that the arguments had, in order, in the masked form that people may see. An
	// entry is null if nothing of that value may be shown.
	InputHistory []json.RawMessage `json:"inputHistory,omitempty"`
	// OutputHistory has the values of the output that the record may show, in order.
	OutputHistory []json.RawMessage `json:"outputHistory,omitempty"`
	PolicyDigest  string            `json:"policyDigest,omitempty"`
	// Claims are the claims whose outcome this Temporal run knows. If the record has another claim of a tool that must not
	// be repeated, Settle writes nothing and answers Unaccounted, unless the code of Result is outcome_unknown.
	Claims   []Claim           `json:"claims,omitempty"`
	Stages   []StageEvent      `json:"stages,omitempty"`
	Attempts []AttemptEvent    `json:"attempts,omitempty"`
	Audit    []hook.AuditEntry `json:"audit,omitempty"`
	// Unaudited has what the audit line of the call says, if Audit does not have the line. For example, the hooks at willAudit
	// failed, and so did the stage. Settle then makes the line.
	Unaudited *hook.Facts `json:"unaudited,omitempty"`
	// Hydrations are the hydrations that the record does not have yet.
	Hydrations []Hydration `json:"hydrations,omitempty"`
	// Kept is the value for the result cache; nil if the cache stores nothing.
	Kept *Kept `json:"kept,omitempty"`
}

// Started returns the contents of the start event (toolspec.EventStart). at is the time
// when the first attempt began, or the zero time if none began. valid says whether the
// arguments were valid: always after an attempt began, otherwise if the last run of Hydrate accepted them.
func (in SettleIn) Started() (at time.Time, valid bool) {
	if len(in.Attempts) > 0 {
		return time.UnixMilli(in.Attempts[0].AtMs), true
	}
	for _, e := range slices.Backward(in.Stages) {
		if e.Stage == Hydrate.Name() {
			return time.Time{}, e.Outcome == "ok"
		}
	}
	return time.Time{}, false
}

// Kept is a value of the tool for the result cache. The value is redacted and checked,
// and is the value before willTransformOutput.
type Kept struct {
	Entry hook.CacheEntry `json:"entry"`
	Value json.RawMessage `json:"value"`
}

// SettleOut is the answer of Settle. Outcome is Done, AlreadySettled, Superseded or
// Unaccounted. With AlreadySettled, Result is the final result in the record. Settle
// writes to the record only if Outcome is Done.
type SettleOut struct {
	Outcome Outcome          `json:"outcome"`
	Result  *toolspec.Result `json:"result,omitempty"`
	// Unaccounted are the claims because of which Settle wrote nothing: they are in the
	// record, their tool must not be repeated, and they are not in SettleIn.Claims.
	Unaccounted []Claim `json:"unaccounted,omitempty"`
}

// StageEvent describes a stage or step that ran. Lists of events are in the order in
// which the stages and steps began.
type StageEvent struct {
	Stage      string `json:"stage"`
	Round      int    `json:"round,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	Outcome    string `json:"outcome"`
	By         string `json:"by,omitempty"`
	Rule       string `json:"rule,omitempty"`
	AtMs       int64  `json:"atMs"`
	DurationUs int64  `json:"durationUs"`
	// Notes are failures that did not change the outcome.
	Notes []hook.Note `json:"notes,omitempty"`
}

// AttemptEvent describes one dispatch of an attempt.
type AttemptEvent struct {
	Attempt    int           `json:"attempt"`
	Dispatch   int           `json:"dispatch,omitempty"`
	Lane       hook.Lane     `json:"lane"`
	Outcome    string        `json:"outcome"`
	Code       toolspec.Code `json:"code,omitempty"`
	AtMs       int64         `json:"atMs"`
	DurationUs int64         `json:"durationUs"`
}
