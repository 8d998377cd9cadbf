package contract

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// HydrateIn is the input of Hydrate, which parses, validates and digests arguments. At
// first the arguments are in Input, which is the input of the workflow. If a stage or an
// approver has changed them, or a deploy has replaced the tool, they are in Args.
type HydrateIn struct {
	InvocationID string `json:"invocationId"`
	ToolID       string `json:"toolId"`
	// ToolDigest is the digest of the definition that the call has used so far. A worker that has this
	// definition uses it, and any other worker uses its current definition. It is empty if the worker is to use
	// its current definition.
	ToolDigest string `json:"toolDigest,omitempty"`
	// PlanVersion is the version of the recorded plan. The worker must support it.
	PlanVersion int             `json:"planVersion,omitempty"`
	Input       []byte          `json:"input,omitempty"`
	Args        json.RawMessage `json:"args,omitempty"`
	// PolicyDigest is the policy that decides whether Input may be repaired. Args are
	// never repaired.
	PolicyDigest string `json:"policyDigest,omitempty"`
	// SafeArgs is the masked form of Args so far. If a new version of the tool masks more than the old one, Hydrate
	// also masks that in SafeArgs and SafeHistory.
	SafeArgs json.RawMessage `json:"safeArgs,omitempty"`
	// SafeHistory has the masked form of every value that the arguments had.
	SafeHistory []json.RawMessage `json:"safeHistory,omitempty"`
}

// HydrateOut is the answer of Hydrate. Outcome is Done, Refused or NotHere. With Done,
// Args are arguments that the tool accepts.
type HydrateOut struct {
	Outcome    Outcome         `json:"outcome"`
	Failure    *hook.Failure   `json:"failure,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	SafeArgs   json.RawMessage `json:"safeArgs,omitempty"`
	ToolDigest string          `json:"toolDigest,omitempty"`
	Effect     toolspec.Effect `json:"effect,omitempty"`
	Risk       toolspec.Risk   `json:"risk,omitempty"`
	// Repeatable says whether the current version of the tool may be repeated. If it is nil, the plan decides.
	Repeatable *bool `json:"repeatable,omitempty"`
	// Repaired says that Hydrate repaired the arguments, so a person must see them before the tool runs.
	Repaired bool `json:"repaired,omitempty"`
	// NoSchema says that the tool has no schema, so nothing checked the arguments, and a person must see them
	// before the tool runs.
	NoSchema bool `json:"noSchema,omitempty"`
	// ScriptArg names the argument that has a script of a shell; empty if the tool has none.
	ScriptArg string `json:"scriptArg,omitempty"`
	// Discovered describes the definition of a discovered tool; nil if no server has given the definition.
	Discovered *toolspec.Discovered `json:"discovered,omitempty"`
	// Provenance is written to the record, also if Outcome is Refused.
	Provenance *toolspec.Provenance `json:"provenance,omitempty"`
	// SafeHistory replaces the SafeHistory of the input; nil if it did not change.
	SafeHistory []json.RawMessage `json:"safeHistory,omitempty"`
	// By names the missing part if Outcome is NotHere.
	By         string `json:"by,omitempty"`
	DurationUs int64  `json:"durationUs,omitempty"`
}

// Hydration describes one run of Hydrate for the record.
type Hydration struct {
	// Seq numbers the hydrations of a run from 1. Seq and AtMs together identify a
	// hydration, so the record stores it once even if it receives it twice.
	Seq        int                 `json:"seq"`
	AtMs       int64               `json:"atMs"`
	Provenance toolspec.Provenance `json:"provenance"`
}
