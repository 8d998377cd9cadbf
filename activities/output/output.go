package output

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/truncate"
)

// Store keeps whole values whose results have a shortened form. An error that a retry can correct is
// marked errs.Transient.
type Store interface {
	// SaveOutput stores a redacted value, and returns its reference. It replaces a stored value with the same
	// InvocationID, Dispatch and ClaimID.
	SaveOutput(ctx context.Context, in Row) (ref string, err error)
	// Output returns the value that a reference of the tenant names.
	Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error)
}

// Row is a redacted value to store.
type Row struct {
	InvocationID string
	TenantID     string
	// Dispatch is the dispatch of the attempt, and 0 for the value of a stage.
	Dispatch int
	// ClaimID is the id of the claim of this execution, or a random text without a claim. Two
	// executions of one dispatch have two ids, so that neither overwrites the value of the other, and
	// nobody can guess the reference.
	ClaimID string
	Value   json.RawMessage
}

// Origin says who made a value, and so by which schema it is checked.
type Origin int

// The origins.
const (
	// FromTool is the value of a tool or of its probe, or the value with which a hook responds inside an attempt. Its form
	// before redaction is checked, against the output schema.
	FromTool Origin = iota
	// FromHook is a value that a hook made of a redacted value, the value with which a hook responds before the
	// attempt, or a value of the cache. Its redacted form is checked, against the part of the output schema that the
	// allowlist of the tool names.
	FromHook
)

// Value is a value on its way out of a worker.
type Value struct {
	Origin Origin
	// Row has the raw value, and says where the redacted value is stored.
	Row
	// MaxBytes bounds the redacted value, if it is less than the bound of the tool; 0 sets no other bound.
	MaxBytes int
}

// Deliverer makes the form of a value that may leave the worker. Store is needed; without Secrets there are
// no live secrets.
type Deliverer struct {
	Store   Store
	Secrets *fingerprint.Set
}

// Deliver redacts a value and returns the form that may leave the worker, and its description. The form is the
// whole value, or the short form of a large value that Deliver stores. A failure says that the value must not
// leave. The error says that a valid value could not be stored.
//
// Deliver first refuses a raw value that is much too large, because a validation costs more than all other steps.
// Then it removes live secrets if a mask follows, applies the allowlist and the mask, removes live secrets again,
// and checks the size of the redacted value. Then it validates the value: see Origin. At the end it stores a large
// value, and shortens and describes it.
func (d *Deliverer) Deliver(ctx context.Context, bound *catalog.Bound, in Value) (json.RawMessage, toolspec.OutputInfo, *hook.Failure, error) {
	clean, failure := d.Clean(bound, in)
	if failure != nil {
		return nil, toolspec.OutputInfo{}, failure, nil
	}
	info := toolspec.OutputInfo{Kind: bound.Kind(), Bytes: int64(len(clean))}
	whole := truncate.Value{JSON: clean, Kind: info.Kind, Contents: bound.Truncations(), Most: toolspec.MaxInline}
	if !whole.Exceeds() {
		return clean, info, nil, nil
	}
	in.Value = clean
	var err error
	if info.OutputRef, err = d.save(ctx, in.Row); err != nil {
		return nil, toolspec.OutputInfo{}, nil, fmt.Errorf("the value could not be stored: %w", err)
	}
	info.Truncated = true
	return whole.Short(info.OutputRef), info, nil, nil
}

// Clean returns the redacted value without storing or shortening it. A failure says that the value must
// not leave.
func (d *Deliverer) Clean(bound *catalog.Bound, in Value) (json.RawMessage, *hook.Failure) {
	most := bound.MaxResultBytes()
	if in.MaxBytes > 0 {
		most = min(most, in.MaxBytes)
	}
	hard := toolspec.MaxRawResult
	if in.Origin == FromHook {
		// The time of a stage is short, so it must not be spent on a value that is much too large. Most values are redacted
		// already, so redaction does not make them small.
		hard = 2 * most
	}
	if len(in.Value) > hard {
		return nil, tooLarge(most)
	}
	clean, redacted := in.Value, true
	if bound.IsMasked() {
		// A mask could remove a part of a live secret, and no later search would find the rest.
		clean, redacted = redact.JSON(clean, d.Secrets)
	}
	if redacted {
		var err error
		clean, err = bound.Redact(clean)
		redacted = err == nil
	}
	if redacted {
		clean, redacted = redact.JSON(clean, d.Secrets)
	}
	switch {
	case redacted && len(clean) > most:
		return nil, tooLarge(most)
	case !redacted && len(in.Value) > most: // its validation would cost too much
		return nil, &hook.Failure{Code: toolspec.CodeRedactionFailed}
	}
	if f := check(bound, in, clean, redacted); f != nil {
		return nil, f
	}
	if !redacted {
		return nil, &hook.Failure{Code: toolspec.CodeRedactionFailed}
	}
	return clean, nil
}

// check returns a failure for a value that breaks the contract of its tool.
func check(bound *catalog.Bound, in Value, clean json.RawMessage, redacted bool) *hook.Failure {
	var problems []toolspec.Problem
	switch {
	case in.Origin == FromTool:
		problems = bound.ValidateOutput(in.Value)
	case redacted:
		problems = bound.ValidateRedacted(clean)
	}
	switch {
	case len(problems) > 0 && in.Origin == FromHook:
		return &hook.Failure{Code: toolspec.CodeOutputValidation, SafeMessage: "a hook's value breaks the tool's output schema"}
	case len(problems) > 0:
		return &hook.Failure{Code: toolspec.CodeOutputValidation, Details: &toolspec.Details{Kind: problems[0].Kind}}
	case bound.Kind() != toolspec.KindParts || in.Origin == FromHook:
		return nil
	}
	var parts toolspec.Parts
	if err := json.Unmarshal(in.Value, &parts); err != nil {
		return &hook.Failure{Code: toolspec.CodeOutputValidation}
	}
	if err := parts.Check(); err != nil {
		return &hook.Failure{Code: toolspec.CodeOutputValidation, SafeMessage: err.Error()}
	}
	return nil
}

func tooLarge(limit int) *hook.Failure {
	return &hook.Failure{Code: toolspec.CodeResultTooLarge, SafeMessage: fmt.Sprintf("The result is larger than %d bytes", limit)}
}

// save stores a large value. It retries for a short time: a tool has run, and without its value the
// outcome is unknown.
func (d *Deliverer) save(ctx context.Context, row Row) (ref string, err error) {
	err = errs.Persist(ctx, func() (err error) {
		ref, err = d.Store.SaveOutput(ctx, row)
		return err
	})
	return ref, err
}

// Whole returns the whole value that info describes: value itself, or the stored value if value is a short
// form.
func (d *Deliverer) Whole(ctx context.Context, tenantID string, value json.RawMessage, info toolspec.OutputInfo) (json.RawMessage, error) {
	if !info.Truncated {
		return value, nil
	}
	return d.Store.Output(ctx, tenantID, info.OutputRef)
}
