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

// Bounds of the values that a hook may pass to its view. Bounds without a unit are bytes.
const (
	maxReason = 500
	maxCode   = 64
	maxKey    = 200
	// MaxDelta bounds the changes that the hooks of one call make, in bytes.
	MaxDelta = 1 << 20
	// MaxWait bounds one wait until the time that a hook names with WaitUntil.
	MaxWait = 30 * 24 * time.Hour
)

// core is the state behind a view during one run of one hook.
type core struct {
	facts Facts
	// stage and hook are the names of the stage and the hook that run.
	stage Stage
	hook  string
	delta *Delta
	// verb is the control that a method of the view, such as Abort, has returned. The hook must return
	// the same control.
	verb *control
	// misuse is the error of the first illegal use of the view. Methods such as Put return no error, so
	// runHook reads it here after the hook.
	misuse error
	// rawOutput is the value of the tool before redaction. It is set at didExecute only.
	rawOutput json.RawMessage
	next      func() (json.RawMessage, error)
	// nextErr is the error that next returned. If the hook returns it, runHook does not log it as a
	// failure of this hook.
	nextErr error
	// providers finds the instances that the call is provided with, or is nil.
	providers *provide.Providers
	// namesApprovers says that the hook has the option NamesApprovers.
	namesApprovers bool
	// skipped says that the filter kept the hook from running.
	skipped bool
}

// control is the error by which a hook gives its stage an outcome. A hook gets a control from a method of
// its view, such as Abort, and returns it.
type control struct {
	outcome   Outcome
	value     json.RawMessage
	challenge bool
	failure   *Failure
	ask       *Ask
	wait      *Wait
}

// Error says that a control was mistaken for an error.
func (c *control) Error() string { return "control outcome " + string(c.outcome) }

// setVerb stores a control and returns it, so that the hook returns it as its error. A second control in
// the same run of the hook is a misuse.
func (c *core) setVerb(v control) error {
	if c.verb != nil {
		c.fail(errors.New("two verbs were called; return the first"))
	}
	c.verb = &v
	return c.verb
}

// fail records a misuse of the view. Only the first misuse counts.
func (c *core) fail(err error) {
	if c.misuse == nil {
		c.misuse = err
	}
}

// encode returns v as JSON, of at most toolspec.MaxInline bytes. If that fails, it records a misuse and
// returns nil. what names the value in the text of the misuse.
func (c *core) encode(what string, v any) json.RawMessage {
	return c.encodeWithin(what, v, toolspec.MaxInline)
}

// encodeOutput works as encode, for a value that replaces the value of the tool: of at most
// toolspec.MaxRawResult bytes. Package activities/output redacts and checks this value before it
// leaves the worker.
func (c *core) encodeOutput(what string, v any) json.RawMessage {
	return c.encodeWithin(what, v, toolspec.MaxRawResult)
}

func (c *core) encodeWithin(what string, v any, limit int) json.RawMessage {
	raw, isRaw := v.(json.RawMessage)
	if isRaw {
		raw = slices.Clone(raw)
		if !json.Valid(raw) {
			c.fail(fmt.Errorf("%s is not JSON", what))
			return nil
		}
	} else {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			c.fail(fmt.Errorf("%s cannot be written as JSON", what))
			return nil
		}
	}
	if len(raw) > limit {
		c.fail(fmt.Errorf("%s is larger than %d bytes", what, limit))
		return nil
	}
	return raw
}

// reason returns a text for callers, approvers and records, cut to maxReason bytes. A text with the
// shape of a secret is a misuse.
func (c *core) reason(text string) string {
	if toolspec.SecretValue(text) {
		c.fail(errors.New("a reason has the shape of a secret"))
		return ""
	}
	return clip(text, maxReason)
}

// clip returns the first n bytes of s, or fewer bytes if the last character would be cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := n
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut]
}

// AbortOption adds a code or a status to an Abort.
type AbortOption func(*Failure)

// Code adds a code of the hook's own, which the result of the call has in details.code. It cuts a code to 64 bytes, and leaves out a code with
// the shape of a secret.
func Code(code string) AbortOption {
	return func(f *Failure) { f.Details.Code = abortCode(code) }
}

// abortCode returns a code for callers and records, cut to maxCode bytes, or nothing if it has the shape of a secret.
func abortCode(code string) string {
	if toolspec.SecretValue(code) {
		return ""
	}
	return clip(code, maxCode)
}

// HTTPStatus adds a status from 400 to 599. It ignores any other status.
func HTTPStatus(status int) AbortOption {
	return func(f *Failure) {
		if status >= 400 && status <= 599 {
			f.HTTPStatus = status
		}
	}
}

func milliseconds(d time.Duration) int64 { return max(d.Milliseconds(), 0) }
