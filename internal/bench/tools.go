package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// tenant is whom the calls belong to. Its policy is an ordinary one: a rule, a mode, budgets.
const (
	tenant = "bench"
	actor  = "agent:bench"
	rules  = `
version: 1
tenants:
  bench:
    allowedTools: ["bench__*", "core__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 24h, allowUnsigned: true}
    budgets: {maxRuntimeMs: 300000}
    rules:
      - {tool: "bench__denied", decision: deny, message: "not here"}
    limits:
      - {tool: "bench__guarded", quota: {tokens: 1000000, every: 1h}}
      - {tool: "bench__guarded", concurrent: 1000, then: wait}
`
)

const (
	readTool   = "bench__read"
	hookedTool = "bench__hooked"
	sendTool   = "bench__send"
	// quickTool writes in the claimed lane.
	quickTool  = "bench__quick"
	deniedTool = "bench__denied"
	// askTool waits for a person.
	askTool = "bench__ask"
	// guardedTool is read under a quota and a semaphore, and its values are kept.
	guardedTool = "bench__guarded"
	// connectedTool is read over a connection.
	connectedTool = "bench__connected"
)

type echoIn struct {
	Text string `json:"text"`
	// Times is there for validation to have something to look at.
	Times int `json:"times,omitempty" jsonschema:"minimum=0,maximum=10"`
}

type echoOut struct {
	Text string `json:"text"`
	// Hidden is there for redaction to have something to take out.
	Hidden string `json:"hidden,omitempty"`
}

func echo(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
	return echoOut{Text: in.Text, Hidden: "hidden"}, nil
}

// reads is the contract of a read; the others differ from it.
func reads(id string) toolspec.Definition {
	return toolspec.Definition{
		ID: id, Description: "answers with its text", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}
}

func tools() []toolspec.Tool {
	read := reads(readTool)
	hooked, denied, send, guarded := read, read, read, read
	guarded.ID, guarded.CacheFor = guardedTool, time.Hour
	hooked.ID, denied.ID = hookedTool, deniedTool
	send.ID, send.Fast, send.Effect = sendTool, false, toolspec.ExternalSideEffect
	quick := send
	quick.ID, quick.Fast = quickTool, true
	ask := send
	ask.ID, ask.Risk = askTool, toolspec.HighRisk
	return []toolspec.Tool{
		toolspec.Define(ask, echo),
		toolspec.Define(read, echo), toolspec.Define(hooked, echo), toolspec.Define(denied, echo), toolspec.Define(send, echo), toolspec.Define(quick, echo),
		toolspec.Define(guarded, echo), streaming(),
	}
}

// options are what the worker has besides the built-in tools.
func options() []worker.Option {
	return []worker.Option{worker.Tools(tools()...), worker.ToolHooks(hookedTool, onTwentyStages())}
}

// onTwentyStages is a hook of a user on twenty stages of a read that succeeds; one that only looks, which is the least it can do.
func onTwentyStages() hook.Hook {
	return hook.New("bench-looks",
		looks(hook.WillCreateInvokeContext), looks(hook.DidCreateInvokeContext), looks(hook.WillBindProviders), looks(hook.WillAuthorize),
		looks(hook.WillCheckConsent), looks(hook.WillCheckFeatureFlags), looks(hook.WillAcquireQuota), looks(hook.WillAcquireSemaphore),
		looks(hook.WillParseInput), looks(hook.WillValidateInput), looks(hook.WillNormalizeInput), looks(hook.WillInjectSecrets),
		looks(hook.WillExecute), looks(hook.DidExecute), looks(hook.WillAudit), looks(hook.DidAudit), looks(hook.OnMetrics),
		looks(hook.DidReleaseSemaphore), looks(hook.DidReleaseQuota), looks(hook.WillFinalizeInvoke))
}

func looks[V interface{ ToolID() string }](p hook.Point[V]) hook.Handler {
	return p.Do(func(_ context.Context, v V) error {
		if v.ToolID() != hookedTool {
			return fmt.Errorf("the hook of another tool runs for %s", v.ToolID())
		}
		return nil
	})
}
