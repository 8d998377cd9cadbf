package hydrate

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// Result is the result of the hydration of one call (HydrationResult of the specification). A call
// that cannot run has a Result too, not an error.
type Result struct {
	// ToolID is the id of the registered tool; empty if no tool has the name.
	ToolID  string  `json:"toolId,omitempty"`
	Success bool    `json:"success"`
	Errors  []Error `json:"errors,omitempty"`
	// Provenance is always set.
	Provenance toolspec.Provenance `json:"provenance"`

	code     toolspec.Code
	instance *Instance
}

// Error is one reason for which a call cannot run. It contains no arguments except paths and types,
// so it is safe to show to a model.
type Error struct {
	Stage   toolspec.HydrationOutcome `json:"stage"`
	Message string                    `json:"message"`
	Detail  *toolspec.Problem         `json:"detail,omitempty"`
}

// Instance is a tool with validated arguments. Only hydration creates an Instance.
type Instance struct {
	toolID string
	args   json.RawMessage
}

// ToolID is the registered tool.
func (i Instance) ToolID() string { return i.toolID }

// Args returns the validated arguments in RFC 8785 form. The caller may keep them and must not
// change them.
func (i Instance) Args() json.RawMessage { return i.args }

// Instance returns the instance. ok is false if the hydration failed.
func (r Result) Instance() (i Instance, ok bool) {
	if r.instance == nil {
		return Instance{}, false
	}
	return *r.instance, true
}

// Code returns the error code of a failure; empty for a success.
func (r Result) Code() toolspec.Code { return r.code }

// Problems returns the details of the errors. The first one decides.
func (r Result) Problems() (problems []toolspec.Problem) {
	for _, e := range r.Errors {
		if e.Detail != nil {
			problems = append(problems, *e.Detail)
		}
	}
	return problems
}

// Message returns the message of the first error. It is safe to show to anyone.
func (r Result) Message() string {
	if len(r.Errors) == 0 {
		return ""
	}
	return r.Errors[0].Message
}

// fail makes r the result of a failure.
func fail(r *Result, stage toolspec.HydrationOutcome, code toolspec.Code, problems ...toolspec.Problem) {
	r.Success, r.instance, r.Errors = false, nil, nil
	r.code, r.Provenance.Outcome, r.Provenance.Repaired = code, stage, false
	for _, p := range problems {
		r.Errors = append(r.Errors, Error{Stage: stage, Message: p.Message, Detail: &p})
	}
	r.Provenance.Problems = noted(problems)
}
