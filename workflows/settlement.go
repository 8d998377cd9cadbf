package workflows

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// SettleIn closes the record, in one round trip.
type SettleIn struct {
	InvocationID string          `json:"invocationId"`
	TenantID     string          `json:"tenantId"`
	Epoch        int             `json:"epoch"`
	Result       toolspec.Result `json:"result"`
	// Holds says that there may be something to give back: this run acquired, or
	// one before it may have.
	Holds    bool            `json:"holds,omitempty"`
	SafeArgs json.RawMessage `json:"safeArgs,omitempty"`
	// InputHistory and OutputHistory are what may be shown of every value that the
	// arguments and the output had, in order; null stands for one of which nothing
	// may be shown.
	InputHistory  []json.RawMessage `json:"inputHistory,omitempty"`
	OutputHistory []json.RawMessage `json:"outputHistory,omitempty"`
	PolicyDigest  string            `json:"policyDigest,omitempty"`
	Stages        []StageEvent      `json:"stages,omitempty"`
	Attempts      []AttemptEvent    `json:"attempts,omitempty"`
	Audit         []hook.AuditEntry `json:"audit,omitempty"`
	// Hydrations are those that the record does not have yet.
	Hydrations []Hydration `json:"hydrations,omitempty"`
	// Kept is what the result cache is to have of the call.
	Kept *Kept `json:"kept,omitempty"`
}

// Started is what a start event tells (toolspec.EventStart): when the first attempt
// began, which is zero if none did, and whether the arguments were valid: then, or
// at the last.
func (in SettleIn) Started() (at time.Time, valid bool) {
	if len(in.Attempts) > 0 {
		return time.UnixMilli(in.Attempts[0].AtMs), true
	}
	for _, e := range slices.Backward(in.Stages) {
		if e.Stage == nameHydrate {
			return time.Time{}, e.Outcome == "ok"
		}
	}
	return time.Time{}, false
}

// Kept is a value of the tool for the result cache: redacted, checked, and as it
// was before willTransformOutput.
type Kept struct {
	Entry hook.CacheEntry `json:"entry"`
	Value json.RawMessage `json:"value"`
}

// SettleOut is Done, AlreadySettled (with the result that stands) or Superseded.
type SettleOut struct {
	Outcome Outcome          `json:"outcome"`
	Result  *toolspec.Result `json:"result,omitempty"`
}

// StageEvent is a stage or step that ran, in the order they began.
type StageEvent struct {
	Stage      string `json:"stage"`
	Round      int    `json:"round,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	Outcome    string `json:"outcome"`
	By         string `json:"by,omitempty"`
	Rule       string `json:"rule,omitempty"`
	AtMs       int64  `json:"atMs"`
	DurationUs int64  `json:"durationUs"`
	// Notes are failures that changed nothing.
	Notes []hook.Note `json:"notes,omitempty"`
}

// Hydration is one run of hydrate, as the record keeps it.
type Hydration struct {
	// Seq numbers the hydrations of a run from 1; with AtMs it is the name by which
	// the record knows one that it is given twice.
	Seq        int                 `json:"seq"`
	AtMs       int64               `json:"atMs"`
	Provenance toolspec.Provenance `json:"provenance"`
}

// AttemptEvent is one dispatch.
type AttemptEvent struct {
	Attempt    int           `json:"attempt"`
	Dispatch   int           `json:"dispatch,omitempty"`
	Lane       hook.Lane     `json:"lane"`
	Outcome    string        `json:"outcome"`
	Code       toolspec.Code `json:"code,omitempty"`
	AtMs       int64         `json:"atMs"`
	DurationUs int64         `json:"durationUs"`
}
