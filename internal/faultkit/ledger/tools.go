package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// The tools. Each has another effect or lane, so each kind of call is tested.
const (
	// LocalRead is a read in the local lane.
	LocalRead = "chaos__local_read"
	// Read is a read in the regular lane.
	Read = "chaos__read"
	// Put is an idempotent write.
	Put = "chaos__put"
	// Send is a write that must not be repeated.
	Send = "chaos__send"
	// Ask is a write that must not be repeated and needs an approval.
	Ask = "chaos__ask"
	// Quick is a write that must not be repeated, in the claimed lane.
	Quick = "chaos__quick"
	// QuickPut is an idempotent write in the claimed lane.
	QuickPut = "chaos__quick_put"
	// Account is a read in the regular lane that leases a connection and answers with its token.
	Account = "chaos__account"
)

// attempts is the maximum number of attempts of a repeatable tool. Kills every few seconds do not
// use up so many.
const attempts = 20

// In is the argument of every tool.
type In struct {
	Text string `json:"text"`
	// BeforeMs and AfterMs are the milliseconds that the tool works before and after its effect.
	BeforeMs int `json:"beforeMs,omitempty"`
	AfterMs  int `json:"afterMs,omitempty"`
	// AnswerBytes is the minimum length of Text in the answer, in bytes.
	AnswerBytes int `json:"answerBytes,omitempty"`
}

// Answer returns the answer of every tool: Text, padded with dots to AnswerBytes.
func (in In) Answer() Out {
	return Out{Text: in.Text + strings.Repeat(".", max(0, in.AnswerBytes-len(in.Text)))}
}

// Out is the answer of every tool.
type Out struct {
	Text string `json:"text"`
}

// Around wraps the effect of a tool. It calls effect, or does not return.
type Around func(e Effect, effect func() error) error

// Tools returns the tools. They send their effects with w. around may be nil.
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
		// A request that has left cannot be taken back, so a cancelled attempt does not stop it.
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
		define(Quick, toolspec.ExternalSideEffect, func(d *toolspec.Definition) { d.Fast, d.Timeout = true, 2*time.Second }),
		define(QuickPut, toolspec.StateChange, func(d *toolspec.Definition) {
			d.Fast, d.Timeout, d.Idempotent, d.MaxAttempts = true, 2*time.Second, true, attempts
		}),
		define(Ask, toolspec.ExternalSideEffect, func(d *toolspec.Definition) { d.Risk = toolspec.MediumRisk }),
	}
}

// AccountTool returns the tool Account. Its token stands in its answer, so that a leak is found if redaction fails.
func AccountTool(w Writer) toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: Account, Description: "answers with the token of its connection, for a load test", Version: "1",
		Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Timeout: 20 * time.Second, MaxAttempts: attempts,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, RequiresConnection: true,
		Capabilities: []toolspec.CapabilityName{capability.AuthKey.Name()},
	}, func(ctx context.Context, in In, call toolspec.Call) (Out, error) {
		token, err := capability.AuthKey.From(call).AccessToken(ctx, call.Context.ConnectionID)
		if err != nil {
			return Out{}, err
		}
		e, err := effectOf(in, call)
		if err != nil {
			return Out{}, err
		}
		return Out{Text: in.Text + " " + string(token.Reveal())}, w.Write(context.WithoutCancel(ctx), e)
	})
}

// AnswerOf returns the answer of a tool as it leaves the worker.
func AnswerOf(toolID string, in In) Out {
	out := in.Answer()
	if toolID == Account {
		out.Text += " " + fingerprint.Redacted
	}
	return out
}

// Repeatable reports whether a tool may have its effect more than once.
func Repeatable(toolID string) bool { return toolID != Send && toolID != Ask && toolID != Quick }

// Fast reports whether a tool runs inside the workflow task.
func Fast(toolID string) bool { return toolID == LocalRead || toolID == Quick || toolID == QuickPut }

// Digest returns the digest that an Effect holds of these arguments. The fields of In have a fixed
// order, so equal arguments have equal digests.
func (in In) Digest() (string, error) {
	args, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:]), nil
}

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
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nil
	}
}
