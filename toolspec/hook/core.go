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

// Bounds of what a hook may say, in bytes.
const (
	maxReason = 500
	maxCode   = 64
	maxKey    = 200
	// MaxDelta bounds the changes that the hooks of one call make, in bytes.
	MaxDelta = 1 << 20
	// MaxWait bounds one wait for the time that a hook names.
	MaxWait = 30 * 24 * time.Hour
)

// core is the state behind a view during one run of one hook.
type core struct {
	facts Facts
	// stage and hook are the names of the stage and the hook that run.
	stage Stage
	hook  string
	delta *Delta
	// verb is the control that the view has made. The hook must return it.
	verb *control
	// misuse is the first illegal use that could not be returned as an error.
	misuse error
	// rawOutput is the tool's own value, seen inside execute only.
	rawOutput json.RawMessage
	next      func() (json.RawMessage, error)
	// inner is the error that next returned. It is not an error of the hook.
	inner error
	// providers are what the call is provided with here, or nil.
	providers *provide.Providers
	// namesApprovers says that the hook may name approvers.
	namesApprovers bool
	// skipped says that the filter kept the hook from running.
	skipped bool
}

// control carries an outcome through the error result of a hook. Hooks get one from a method of their
// view, such as Abort.
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

func (c *core) make(v control) error {
	if c.verb != nil {
		c.fail(errors.New("two verbs were called; return the first"))
	}
	c.verb = &v
	return c.verb
}

func (c *core) fail(err error) {
	if c.misuse == nil {
		c.misuse = err
	}
}

// encode writes a value that a hook hands over, of at most toolspec.MaxInline bytes. A failure is the
// hook's misuse.
func (c *core) encode(what string, v any) json.RawMessage {
	return c.encodeWithin(what, v, toolspec.MaxInline)
}

// encodeOutput is encode for a value that replaces the value of the tool, with the bound of that
// value. Package activities/output redacts and checks it before it leaves the worker.
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

// reason bounds a text that reaches callers, approvers and records.
func (c *core) reason(text string) string {
	if toolspec.SecretValue(text) {
		c.fail(errors.New("a reason has the shape of a secret"))
		return ""
	}
	return clip(text, maxReason)
}

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

// Code adds the hook's own code, at most 64 bytes; it arrives as details.code.
func Code(code string) AbortOption {
	return func(f *Failure) { f.Details.Code = clip(code, maxCode) }
}

// HTTPStatus adds a status, 400–599; others are ignored.
func HTTPStatus(status int) AbortOption {
	return func(f *Failure) {
		if status >= 400 && status <= 599 {
			f.HTTPStatus = status
		}
	}
}

func milliseconds(d time.Duration) int64 { return max(d.Milliseconds(), 0) }
