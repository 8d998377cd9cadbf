package remotetool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

const (
	// attempts bounds the attempts of a call. A tool that must not be repeated gets another attempt only if nothing
	// happened.
	attempts = 3
	// defaultWait is how long a call waits for a worker that is busy or away.
	defaultWait = 10 * time.Second
	maxWait     = time.Hour
)

// Sender sends a request to a worker, once, and returns the answer only if the worker itself gave it to this request.
// Every error is a *SendError, or the error of the context.
type Sender interface {
	Send(ctx context.Context, to Worker, r ToolRequest) (ToolAnswer, error)
}

// Redeem returns the scheme and host of a connection, and the headers that authenticate requests to it.
type Redeem func(ctx context.Context) (baseURL string, headers map[string]capability.Secret, err error)

// Leaser opens leases for workers. A lease ends with ctx, or when end is called.
type Leaser interface {
	Open(ctx context.Context, to Worker, redeem Redeem) (lease RequestLease, end func())
}

// SendError says that there is no answer that counts.
type SendError struct {
	// Unsent says that nothing of the request was sent.
	Unsent bool
	// Reason is safe to show: it holds nothing that the peer sent.
	Reason string
}

// Error returns the reason.
func (e *SendError) Error() string { return e.Reason }

// remote is a tool with the worker that runs it.
type remote struct {
	tool       Tool
	worker     Worker
	send       Sender
	leases     Leaser
	repeatable bool
}

// NeedsLeases reports whether a tool needs a connection.
func (d Document) NeedsLeases() bool {
	return slices.ContainsFunc(d.Tools, func(t Tool) bool { return t.Connection })
}

// Bind returns the tools of the document. leases may be nil if no tool needs a connection.
func (d Document) Bind(send Sender, leases Leaser) []toolspec.Tool {
	workers := map[string]Worker{}
	for _, w := range d.Workers {
		workers[w.Name] = w
	}
	tools := make([]toolspec.Tool, 0, len(d.Tools))
	for _, t := range d.Tools {
		tools = append(tools, t.bind(workers[t.Worker], send, leases))
	}
	return tools
}

func (t Tool) bind(w Worker, send Sender, leases Leaser) toolspec.Tool {
	def := toolspec.Definition{
		ID: t.ID, Title: t.Title, Description: t.Description, Version: t.version(w), Effect: t.Effect, Risk: t.Risk,
		Idempotent: t.Idempotent, Fences: t.Fences, Timeout: time.Duration(t.TimeoutSeconds) * time.Second, MaxAttempts: attempts,
		MaxArgsBytes: t.MaxArgsBytes, MaxResultBytes: t.MaxResultBytes, Tags: t.Tags, HarmlessNames: t.HarmlessNames,
		Redaction:  toolspec.Redaction{Allow: t.Redaction.Allow, MaskInput: t.Redaction.MaskInput},
		ProvidedBy: w.Name, RequiresConnection: t.Connection, Scopes: t.Scopes,
	}
	if t.Connection {
		def.Capabilities = []toolspec.CapabilityName{capability.ClientsKey.Name(), capability.AuthKey.Name()}
	}
	r := &remote{tool: t, worker: w, send: send, leases: leases, repeatable: def.Repeatable()}
	tool := toolspec.DefineSchema(def, t.Input, t.output(), r.run)
	if t.Probe {
		tool = tool.WithProbe(r.probe)
	}
	return tool
}

// version returns the version of the author and the SHA-256 of where the tool runs. At another worker the tool has
// another digest, so an approval of the tool before is stale.
func (t Tool) version(w Worker) string {
	sum := sha256.Sum256([]byte(w.Name + "\x00" + w.URL + "\x00" + w.Key))
	return t.Version + "+" + hex.EncodeToString(sum[:])
}

func (t Tool) output() json.RawMessage {
	switch t.Result {
	case TextResult:
		return json.RawMessage(`{"type":"string"}`)
	case PartsResult:
		return toolspec.PartsSchema()
	default:
		return t.Output
	}
}

// ask sends a request with the time that is left.
func (r *remote) ask(ctx context.Context, op Operation, args json.RawMessage, call toolspec.Call) (ToolAnswer, error) {
	request := requestOf(op, r.tool, args, call)
	request.TimeoutMs = toolspec.DefaultTimeout.Milliseconds()
	if deadline, ok := ctx.Deadline(); ok {
		request.TimeoutMs = max(time.Until(deadline).Milliseconds(), 1)
	}
	if !r.tool.Connection {
		return r.send.Send(ctx, r.worker, request)
	}
	id := call.Context.ConnectionID
	lease, end := r.leases.Open(ctx, r.worker, func(ctx context.Context) (string, map[string]capability.Secret, error) {
		base, err := capability.ClientsKey.From(call).BaseURL(id, "")
		if err != nil {
			return "", nil, err
		}
		headers, err := capability.AuthKey.From(call).AuthHeaders(ctx, id)
		return base.String(), headers, err
	})
	defer end()
	request.Lease = &lease
	return r.send.Send(ctx, r.worker, request)
}

func (r *remote) run(ctx context.Context, args json.RawMessage, call toolspec.Call) (json.RawMessage, error) {
	answer, err := r.ask(ctx, Run, args, call)
	if err != nil {
		return nil, r.lost(ctx, err, call)
	}
	message := safeText(answer.Message)
	switch answer.Outcome {
	case Done:
		return r.value(answer.Value)
	case Failed:
		switch {
		case answer.Message == "" && !r.repeatable: // an error of which the worker knows nothing, maybe after the effect
			return nil, toolspec.Unanswered("the tool failed in its worker; it may have had its effect")
		case message == "":
			return nil, errors.New("the tool failed in its worker")
		}
		return nil, toolspec.Safef("%s", message)
	case Busy:
		return nil, toolspec.RetryAfter(waitOf(answer.RetryAfterMs), cmp.Or(message, "the remote worker is busy"))
	case Absent:
		return nil, toolspec.RetryAfter(defaultWait, "the remote worker does not have this version of the tool")
	case Unanswered:
		return nil, toolspec.Unanswered(cmp.Or(message, "the tool does not know whether it had its effect"))
	case TookEffect, NoEffect, Unclear: // answers of a probe
	}
	return nil, r.lost(ctx, &SendError{Reason: "the answer of the remote worker has no known outcome"}, call)
}

// probe asks the worker what became of earlier attempts.
func (r *remote) probe(ctx context.Context, args json.RawMessage, call toolspec.Call) (toolspec.Finding, json.RawMessage, error) {
	answer, err := r.ask(ctx, Probe, args, call)
	if err != nil {
		return toolspec.Unclear, nil, err
	}
	switch answer.Outcome {
	case TookEffect:
		value, err := r.value(answer.Value)
		if err != nil {
			return toolspec.Unclear, nil, err
		}
		return toolspec.TookEffect, value, nil
	case NoEffect:
		return toolspec.NoEffect, nil, nil
	default:
		return toolspec.Unclear, nil, nil
	}
}

// value checks what the output schema of the tool cannot say.
func (r *remote) value(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, toolspec.Safef("the answer of the remote worker has no value")
	}
	if r.tool.Result != PartsResult {
		return raw, nil
	}
	var parts toolspec.Parts
	// A reference would name a stored output of another call.
	if json.Unmarshal(raw, &parts) == nil && slices.ContainsFunc(parts, func(p toolspec.Part) bool { return p.OutputRef != "" }) {
		return nil, toolspec.Safef("the answer of the remote worker has a part with an outputRef")
	}
	return raw, nil // the output schema refuses what are no parts
}

// lost returns the error of a request without an answer that counts.
func (r *remote) lost(ctx context.Context, err error, call toolspec.Call) error {
	var failed *SendError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &failed):
		failed = &SendError{Reason: "the remote worker gave no answer"}
		fallthrough
	default:
		switch {
		case failed.Unsent && !r.repeatable:
			return toolspec.RetryAfter(defaultWait, failed.Reason)
		case r.repeatable && call.Attempt < attempts:
			return fmt.Errorf("%s", failed.Reason)
		case r.repeatable:
			return toolspec.Safef("%s", failed.Reason)
		}
		return toolspec.Unanswered(failed.Reason + "; the tool may have had its effect")
	}
}

func waitOf(ms int64) time.Duration {
	if ms <= 0 {
		return defaultWait
	}
	return min(time.Duration(min(ms, maxWait.Milliseconds()))*time.Millisecond, maxWait)
}

// safeText returns a message in one line, or nothing if it is too long or has the shape of a credential.
func safeText(text string) string {
	if len(text) > MaxMessage || !utf8.ValidString(text) || toolspec.SecretValue(text) {
		return ""
	}
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c):
			return -1
		}
		return c
	}, text))
}
