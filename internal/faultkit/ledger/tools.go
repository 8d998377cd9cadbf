package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// The tools, one of each kind that ends in its own way.
const (
	// LocalRead runs inside the workflow task.
	LocalRead = "chaos__local_read"
	// Read is a read of the regular lane.
	Read = "chaos__read"
	// Put is a write that may be repeated.
	Put = "chaos__put"
	// Send must not be repeated.
	Send = "chaos__send"
	// Ask is Send, and a person is asked first.
	Ask = "chaos__ask"
)

// attempts is how often a tool runs at the most that may be repeated: often
// enough that kills every few seconds do not use them up.
const attempts = 20

// In is what every tool takes.
type In struct {
	Text string `json:"text"`
	// BeforeMs and AfterMs are how long the tool works on either side of its
	// effect.
	BeforeMs int `json:"beforeMs,omitempty"`
	AfterMs  int `json:"afterMs,omitempty"`
	// AnswerBytes is how long the text of the answer is at least.
	AnswerBytes int `json:"answerBytes,omitempty"`
}

// Answer is what every tool answers: the text it got, filled up with dots.
func (in In) Answer() Out {
	return Out{Text: in.Text + strings.Repeat(".", max(0, in.AnswerBytes-len(in.Text)))}
}

// Out is the answer of every tool.
type Out struct {
	Text string `json:"text"`
}

// Around stands around the effect of a tool: it calls effect, or does not
// return.
type Around func(e Effect, effect func() error) error

// Tools returns the tools, which write their effects with w. around may be nil.
func Tools(w Writer, around Around) []toolspec.Tool {
	if around == nil {
		around = func(_ Effect, effect func() error) error { return effect() }
	}
	run := func(ctx context.Context, in In, call toolspec.Call) (Out, error) {
		if err := work(ctx, in.BeforeMs); err != nil {
			return Out{}, err
		}
		e, err := effectOf(in, call)
		if err != nil {
			return Out{}, err
		}
		// What has left is not called back, even where the attempt is cancelled now.
		write := func() error { return w.Write(context.WithoutCancel(ctx), e) }
		if err := around(e, write); err != nil {
			return Out{}, err
		}
		return in.Answer(), work(ctx, in.AfterMs)
	}
	define := func(id string, effect toolspec.Effect, change func(*toolspec.Definition)) toolspec.Tool {
		def := toolspec.Definition{
			ID: id, Description: "writes its effect into the ledger of a fault test", Version: "1",
			Effect: effect, Risk: toolspec.LowRisk, Timeout: 20 * time.Second,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}},
		}
		change(&def)
		return toolspec.Define(def, run)
	}
	return []toolspec.Tool{
		define(LocalRead, toolspec.ReadOnly, func(d *toolspec.Definition) {
			d.Fast, d.Timeout, d.MaxAttempts = true, 2*time.Second, attempts
		}),
		define(Read, toolspec.ReadOnly, func(d *toolspec.Definition) { d.MaxAttempts = attempts }),
		define(Put, toolspec.StateChange, func(d *toolspec.Definition) { d.Idempotent, d.MaxAttempts = true, attempts }),
		define(Send, toolspec.ExternalSideEffect, func(*toolspec.Definition) {}),
		define(Ask, toolspec.ExternalSideEffect, func(d *toolspec.Definition) { d.Risk = toolspec.MediumRisk }),
	}
}

// Repeatable reports whether a tool may have its effect more than once.
func Repeatable(toolID string) bool { return toolID != Send && toolID != Ask }

// Digest is what an effect shows for its arguments. In has a fixed order of
// fields, so equal arguments have one digest.
func (in In) Digest() (string, error) {
	args, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:]), nil
}

// effectOf describes the run.
func effectOf(in In, call toolspec.Call) (Effect, error) {
	digest, err := in.Digest()
	if err != nil {
		return Effect{}, err
	}
	return Effect{
		Key: call.IdempotencyKey, InvocationID: call.InvocationID, ToolCallID: call.ToolCallID, ToolID: call.ToolID,
		Attempt: call.Attempt, Digest: digest, PID: os.Getpid(),
	}, nil
}

func work(ctx context.Context, ms int) error {
	if ms <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
