package toolspec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Bounds and defaults of a definition.
const (
	// FastLimit bounds the budget of one attempt of a tool that is Fast. It is also the default
	// of such a tool.
	FastLimit = 3 * time.Second
	// DefaultTimeout is the budget of one attempt of a tool that says nothing else.
	DefaultTimeout = 30 * time.Second
	// MaxTimeout bounds the budget of one attempt.
	MaxTimeout = 24 * time.Hour
	// DefaultMaxArgs bounds the arguments of a tool that says nothing else, in bytes.
	DefaultMaxArgs = 8 << 10
	// DefaultMaxResult bounds the redacted result of a tool that says nothing else, in bytes.
	DefaultMaxResult = 1 << 20
	// MaxResult bounds the redacted result of every tool, in bytes. Redaction decodes a result, which
	// takes up to about ten times its size in memory. A tool that returns more declares a Stream.
	MaxResult = 16 << 20
	// MaxRawResult bounds the value of every tool before redaction, in bytes.
	MaxRawResult = 2 * MaxResult
	// DefaultAttempts bounds the attempts of a call whose tool may be repeated. Every other
	// tool runs once by default.
	DefaultAttempts = 3
	// MaxAttempts bounds the attempts of a call, whatever its tool says.
	MaxAttempts = 100
)

// Definition is the contract of a tool, written once beside its function
// (TOOL_CONTRACTS_ARE_CANONICAL). The schemas come from the Go types.
type Definition struct {
	// ID is the namespaced id, core__read_file. It is also the wire name.
	ID string
	// Title is for people; empty takes the ID.
	Title string
	// Description tells a model when and how to call the tool.
	Description string
	// Version is the author's version of the behaviour; a change makes
	// approvals of the old one stale.
	Version string
	// Effect and Risk are both required.
	Effect Effect
	Risk   Risk
	// Idempotent declares that running twice with the same idempotency key is
	// as good as once. Read-only tools are idempotent by nature.
	Idempotent bool
	// Fences declares that the service, from the time when it answers the probe, refuses each
	// request of an earlier attempt: one with an epoch below the Call.Epoch of the probe. So
	// FoundNoEffect counts while an earlier attempt may still run. Without Fences it counts when
	// every attempt has used up Timeout and ten seconds more. Only a tool with a
	// probe can have Fences.
	Fences bool
	// Fast declares that the tool answers within Timeout ≤ FastLimit, so that its calls may run inside
	// the workflow task: those of a read-only tool in the local lane, those of any other tool in the
	// claimed lane. There, neither a cancel nor a revocation stops an attempt.
	Fast bool
	// Heavy declares that the tool keeps a processor busy while it runs: a search, a
	// compression, a rendering. A worker runs at most as many of them at once as it
	// has processors but one, and never inside the workflow task, so it does not go
	// with Fast. A call that finds no processor free waits for half of Timeout, and
	// then ends its attempt with rate_limited.
	Heavy bool
	// Redaction is required.
	Redaction Redaction
	// Capabilities lists what the function takes from its call.
	Capabilities []CapabilityName
	// RequiresConnection refuses calls without context.connectionId.
	RequiresConnection bool
	// Scopes are what the tool needs of its connection, as the service names them.
	Scopes []string
	// HarmlessNames are names of arguments that look as if they carried a credential, such
	// as "token", and do not: the author answers for that. They are published. Without
	// them such a tool is refused. Each must be the name of an argument, as it is spelled
	// there. A value with the shape of a credential is refused in any case.
	HarmlessNames []string
	// Timeout is the budget of one attempt; 0 means DefaultTimeout.
	Timeout time.Duration
	// MaxAttempts bounds the attempts; 0 means DefaultAttempts where the effect
	// allows repeating, else 1.
	MaxAttempts int
	// MaxArgsBytes bounds the arguments, at most MaxInline; 0 means DefaultMaxArgs.
	MaxArgsBytes int
	// AllowNoSchema allows a tool without a schema. Its arguments are any JSON object,
	// nothing checks them, and every call needs an approval. Without AllowNoSchema, a
	// definition without a schema is invalid.
	AllowNoSchema bool
	// NoSchemaMode is required with AllowNoSchema. Policy has a mode too, and the
	// stricter one counts.
	NoSchemaMode NoSchemaMode
	// MaxResultBytes bounds the redacted result; 0 means DefaultMaxResult. It does not bound a stream.
	MaxResultBytes int
	// Truncate says what parts of the value contain, such as the contents of a file. Each content has a
	// limit, such as 10 KiB, above which Pawl shortens the part. Pawl shortens a value of more than
	// MaxInline bytes even without Truncate. A tool with Stream cannot have Truncate: the result has only
	// one reference, and it names the stream.
	Truncate []Truncation
	// Stream declares that the tool writes to Call.Output, and what. The result of such a tool has the
	// reference of the stream beside its value, which is at most MaxInline bytes and is not cached.
	Stream Stream
	// ScriptArg names the argument that has a script of a shell. Such a tool has the risk high. An allow rule
	// of policy allows a call without an approval only if the rule names every command of the script
	// (`commands`).
	ScriptArg string
	// Tags help people and models to find the tool.
	Tags []string
	// Examples are for people who read about the tool; they are not published. A test of the tool
	// should check that the schema accepts them.
	Examples []Example
	// Strict asks providers that know such a flag to hold the model to the schema,
	// also in requests that do not ask for it of all tools.
	Strict bool
	// CacheFor is how long a value may answer further calls with the same
	// arguments; 0 leaves it to policy, which keeps nothing by default, and
	// NeverCached forbids it. It counts for the effect read_only. It declares that
	// the value depends on nothing else of the call than its arguments, its
	// connection and what CacheScope names.
	CacheFor time.Duration
	// CacheScope says who shares a kept value; the default is the actor alone.
	CacheScope CacheScope
	// CacheTags name what the values were made of, for invalidation.
	CacheTags []string
	// ProvidedBy names the server or the document that the tool comes from, such as the id of an MCP
	// server (MC-12). It is published.
	ProvidedBy string
	// Discovered is set if the definition comes from a server that nobody trusts, and not from a person.
	Discovered *Discovered
}

// Repeatable reports whether an attempt that was lost may be made again.
func (d Definition) Repeatable() bool { return d.Effect == ReadOnly || d.Idempotent }

// Call is what a tool learns about the call it serves: opaque references and
// the abilities that it declared, no credentials.
type Call struct {
	ToolID       string
	ToolCallID   string
	InvocationID string
	// IdempotencyKey is the same for every attempt of an invocation: hand it to a
	// service that takes such keys.
	IdempotencyKey string
	// Attempt counts from 1.
	Attempt int
	// Epoch is raised whenever another run takes the call over. A service that can
	// fence refuses an epoch older than the newest it has seen of the key.
	Epoch   int
	Context Context
	// Logger carries the ids of the call. What is logged must be safe to show.
	Logger *slog.Logger

	capabilities Capabilities
	output       OutputStream
	preview      *Preview
}

// WithCapabilities returns the call with the abilities a tool receives.
func (c Call) WithCapabilities(caps Capabilities) Call {
	c.capabilities = caps
	return c
}

// Tool is a definition with its function. It has no exported state: read it
// through Definition.
type Tool struct {
	def     Definition
	in, out reflect.Type
	// documents are the schemas instead of in and out.
	documents *documents
	run       func(ctx context.Context, args json.RawMessage, call Call) (json.RawMessage, error)
	probe     func(ctx context.Context, args json.RawMessage, call Call) (Finding, json.RawMessage, error)
	preview   func(ctx context.Context, args json.RawMessage, call Call) (Preview, error)
	previewIn reflect.Type
}

// Define makes a tool of a typed function. The JSON Schemas of In and Out are
// derived when the tool is registered, where every rule of the contract is
// checked; Define itself cannot fail.
func Define[In, Out any](def Definition, run func(ctx context.Context, in In, call Call) (Out, error)) Tool {
	t := Tool{def: def.clone().withDefaults(), in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
	if run != nil {
		t.run = func(ctx context.Context, args json.RawMessage, call Call) (json.RawMessage, error) {
			in, err := decodeArgs[In](args)
			if err != nil {
				return nil, err
			}
			out, err := run(ctx, in, call)
			if err != nil {
				return nil, err
			}
			return encodeValue(out)
		}
	}
	return t
}

func decodeArgs[In any](args json.RawMessage) (in In, err error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return in, &ArgsError{cause: err}
	}
	return in, nil
}

func encodeValue(out any) (json.RawMessage, error) {
	encoded, err := json.Marshal(out)
	if err != nil {
		return nil, &OutputError{cause: err}
	}
	return encoded, nil
}

// Definition returns a copy.
func (t Tool) Definition() Definition { return t.def.clone() }

func (d Definition) clone() Definition {
	d.Redaction.Allow = slices.Clone(d.Redaction.Allow)
	d.Redaction.MaskInput = slices.Clone(d.Redaction.MaskInput)
	d.Redaction.MaskOutput = slices.Clone(d.Redaction.MaskOutput)
	d.Truncate = slices.Clone(d.Truncate)
	d.Capabilities, d.Scopes = slices.Clone(d.Capabilities), slices.Clone(d.Scopes)
	d.Redaction.MaskStream = slices.Clone(d.Redaction.MaskStream)
	d.Tags, d.CacheTags, d.HarmlessNames = slices.Clone(d.Tags), slices.Clone(d.CacheTags), slices.Clone(d.HarmlessNames)
	d.Examples = slices.Clone(d.Examples)
	d.Discovered = d.Discovered.Clone()
	return d
}

// Types returns the Go types that the schemas are derived from, or nil where
// [Tool.Documents] has them.
func (t Tool) Types() (in, out reflect.Type) { return t.in, t.out }

// HasRun reports whether the tool has a function.
func (t Tool) HasRun() bool { return t.run != nil }

// Run calls the function with validated arguments. Only the execute activity
// may call it (TOOLS_VIA_TOOLRUNNER).
func (t Tool) Run(ctx context.Context, args json.RawMessage, call Call) (json.RawMessage, error) {
	return t.run(ctx, args, call)
}

func (d Definition) withDefaults() Definition {
	if d.Title == "" {
		d.Title = d.ID
	}
	if d.Timeout == 0 {
		d.Timeout = DefaultTimeout
		if d.Fast {
			d.Timeout = FastLimit
		}
	}
	if d.MaxAttempts == 0 {
		d.MaxAttempts = 1
		if d.Repeatable() {
			d.MaxAttempts = DefaultAttempts
		}
	}
	if d.MaxArgsBytes == 0 {
		d.MaxArgsBytes = DefaultMaxArgs
	}
	if d.MaxResultBytes == 0 {
		d.MaxResultBytes = DefaultMaxResult
		if d.Stream != "" {
			d.MaxResultBytes = MaxInline
		}
	}
	if d.Stream != "" && d.CacheFor == 0 {
		d.CacheFor = NeverCached
	}
	return d
}

// Check reports the first field that is missing or breaks its rule.
func (d Definition) Check() error {
	if err := CheckToolID(d.ID); err != nil {
		return fmt.Errorf("id %w", err)
	}
	switch {
	case strings.HasPrefix(d.ID, UnknownNamespace+"__"):
		return fmt.Errorf("id may not be in the namespace %s, which is for calls of no tool", UnknownNamespace)
	case strings.HasPrefix(d.ID, mcpNamespace+"__") && d.Discovered == nil:
		return fmt.Errorf("id may not be in the namespace %s, which is for tools that MCP servers offer", mcpNamespace)
	case d.Description == "":
		return fmt.Errorf("description is missing")
	case d.Effect == "":
		return fmt.Errorf("effect is missing: read_only, state_change or external_side_effect")
	case !d.Effect.Valid():
		return fmt.Errorf("effect %q is none of read_only, state_change, external_side_effect", d.Effect)
	case d.Risk == "":
		return fmt.Errorf("risk is missing: low, medium or high")
	case !d.Risk.Valid():
		return fmt.Errorf("risk %q is none of low, medium, high", d.Risk)
	case d.Fast && d.Heavy:
		return fmt.Errorf("heavy does not go with fast: the tool would keep workflow tasks waiting")
	case d.Fast && d.Timeout > FastLimit:
		return fmt.Errorf("fast needs a timeout of at most %s", FastLimit)
	case d.Timeout < 0 || d.Timeout > MaxTimeout:
		return fmt.Errorf("timeout must be between 0 and %s", MaxTimeout)
	case d.MaxAttempts < 1 || d.MaxAttempts > MaxAttempts:
		return fmt.Errorf("maxAttempts must be between 1 and %d", MaxAttempts)
	case d.ScriptArg != "" && d.Risk != HighRisk:
		return fmt.Errorf("scriptArg needs the risk high: a script can do anything")
	case d.MaxArgsBytes < 1 || d.MaxArgsBytes > MaxInline:
		return fmt.Errorf("maxArgsBytes must be between 1 and %d", MaxInline)
	case d.MaxResultBytes < 1 || d.MaxResultBytes > MaxResult:
		return fmt.Errorf("maxResultBytes must be between 1 and %d", MaxResult)
	}
	if len(d.Scopes) > 64 || slices.ContainsFunc(d.Scopes, func(s string) bool { return s == "" || s == "*" || len(s) > 200 }) {
		return fmt.Errorf("scopes must be at most 64 names of 1–200 bytes, and none of them *")
	}
	for _, name := range d.HarmlessNames {
		if !SecretName(name) {
			return fmt.Errorf("harmlessNames: %q does not look like a credential: leave it out", name)
		}
	}
	if err := d.checkStream(); err != nil {
		return err
	}
	if err := d.checkNoSchema(); err != nil {
		return err
	}
	if err := d.checkCache(); err != nil {
		return err
	}
	if err := d.checkTruncate(); err != nil {
		return err
	}
	if err := d.Discovered.check(); err != nil {
		return err
	}
	return d.Redaction.Check()
}

// ArgsError says that validated arguments do not fit the Go type.
type ArgsError struct{ cause error }

// Error hides the cause: it may quote a value.
func (e *ArgsError) Error() string { return "the arguments do not fit the tool's type" }

// Unwrap returns the cause.
func (e *ArgsError) Unwrap() error { return e.cause }

// OutputError says that a tool's value is not JSON: a NaN, a cycle, a channel.
type OutputError struct{ cause error }

// Error hides the cause: it may quote a value.
func (e *OutputError) Error() string { return "the tool's value cannot be written as JSON" }

// Unwrap returns the cause.
func (e *OutputError) Unwrap() error { return e.cause }
