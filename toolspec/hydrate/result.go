package hydrate

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// Result is what came of one call of a model (HydrationResult of the
// specification). A call that cannot run is a Result too, and no error.
type Result struct {
	// ToolID is the registered tool; empty where there is none of that name.
	ToolID  string  `json:"toolId,omitempty"`
	Success bool    `json:"success"`
	Errors  []Error `json:"errors,omitempty"`
	// Provenance is there in any case.
	Provenance toolspec.Provenance `json:"provenance"`

	code     toolspec.Code
	instance *Instance
}

// Error is one reason for which a call cannot run. It holds nothing of the
// arguments but paths and types, so that a model may be told.
type Error struct {
	Stage   toolspec.HydrationOutcome `json:"stage"`
	Message string                    `json:"message"`
	Detail  *toolspec.Problem         `json:"detail,omitempty"`
}

// Instance is a tool with arguments that it accepts. Only hydration makes one, and
// there is no way to it from arguments that were not validated.
type Instance struct {
	toolID string
	args   json.RawMessage
}

// ToolID is the registered tool.
func (i Instance) ToolID() string { return i.toolID }

// Args are the validated arguments in RFC 8785 form; the caller may keep them, and
// must not write into them.
func (i Instance) Args() json.RawMessage { return i.args }

// Instance returns what may run; ok is false where the hydration failed.
func (r Result) Instance() (i Instance, ok bool) {
	if r.instance == nil {
		return Instance{}, false
	}
	return *r.instance, true
}

// Code is the code of the table that a failure has; empty for a success.
func (r Result) Code() toolspec.Code { return r.code }

// Problems are the details of the errors, the one that decides first.
func (r Result) Problems() (problems []toolspec.Problem) {
	for _, e := range r.Errors {
		if e.Detail != nil {
			problems = append(problems, *e.Detail)
		}
	}
	return problems
}

// Message is the text of the error that decides, safe for anyone.
func (r Result) Message() string {
	if len(r.Errors) == 0 {
		return ""
	}
	return r.Errors[0].Message
}

// fail makes a result one of a failure.
func fail(r *Result, stage toolspec.HydrationOutcome, code toolspec.Code, problems ...toolspec.Problem) {
	r.Success, r.instance, r.Errors = false, nil, nil
	r.code, r.Provenance.Outcome, r.Provenance.Repaired = code, stage, false
	for _, p := range problems {
		r.Errors = append(r.Errors, Error{Stage: stage, Message: p.Message, Detail: &p})
	}
	r.Provenance.Problems = noted(problems)
}
