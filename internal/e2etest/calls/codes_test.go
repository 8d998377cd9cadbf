package calls

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/worker"
)

// codesPolicy gives the tenant globex permissions by relations. The test adds no relation.
const codesPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
    rules:
      - {tool: test__denied, decision: deny}
      - {tool: test__brief, decision: require_approval, approvals: {expiresAfter: 1s}}
    limits:
      - {tool: test__limited, quota: {tokens: 1, every: 1h}}
      - {tool: test__single, concurrent: 1}
  globex:
    allowedTools: ["test__*"]
    mode: auto
    permissions: relations
`

// inPieces is an output of several strings.
type inPieces struct {
	Pieces []string `json:"pieces"`
}

// TestEveryCode ends a call with each code of the table.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, codesPolicy)
	codes := codeWorld{World: w, vault: e2etest.NewVault(w), single: e2etest.NewHung(), secret: string(e2etest.NewCanary())}
	stop := codes.work("1")
	ended := map[toolspec.Code]toolspec.Result{}
	for code, end := range codes.cases() {
		ended[code] = end()
	}
	stale := w.Start(e2etest.Invocation("stale", "test__asked", `{}`))
	view := w.Waiting(stale.WorkflowID)
	stop()
	codes.work("2")
	w.Decide(stale.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ann))
	ended[toolspec.CodeApprovalStale] = w.Result(stale)
	for _, info := range toolspec.Codes() {
		if r, ok := ended[info.Code]; !ok || r.OK || r.ErrorCode != info.Code {
			t.Errorf("the call for %s ended with %+v", info.Code, r)
		}
	}
}

// codeWorld has a worker whose tools fail in many ways.
type codeWorld struct {
	*e2etest.World
	vault  *e2etest.Vault
	single *e2etest.Hung
	secret string
}

func (c *codeWorld) work(version string) (stop func()) {
	gives := func(text string) e2etest.Run {
		return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: text}, nil
		}
	}
	fails := func(err error) e2etest.Run {
		return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) { return e2etest.Out{}, err }
	}
	outlasts := func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
		<-ctx.Done()
		return e2etest.Out{}, ctx.Err()
	}
	broken := hook.New("broken", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error {
		if v.ToolCallID() == "internal" {
			return errors.New("broken")
		}
		return nil
	}))
	wrong := e2etest.Tool("test__wrong", nil, e2etest.Attempts(1)).Definition()
	pieces := e2etest.Tool("test__pieces", nil, e2etest.Idempotent).Definition()
	pieces.Redaction.Allow = []string{"/pieces"}
	config := c.vault.Config()
	config.OutputQuota = 1000
	return c.WorkWith(config, worker.Hooks(broken), worker.Secret("pieces", []byte(c.secret)), worker.Tools(
		e2etest.Tool("test__echo", e2etest.Echo), e2etest.Tool("test__denied", e2etest.Echo), e2etest.Tool("test__limited", e2etest.Echo),
		e2etest.Tool("test__asked", e2etest.Echo, e2etest.Once, e2etest.Risky, e2etest.Version(version)),
		e2etest.Tool("test__brief", e2etest.Echo), e2etest.Tool("test__single", c.single.Run, e2etest.Within(2*time.Minute)),
		e2etest.Tool("test__connected", e2etest.Fetch(nil), e2etest.Connected),
		e2etest.Tool("test__fails", fails(errors.New("no")), e2etest.Once), e2etest.Tool("test__aborts", fails(toolspec.Abort("not today", "closed", 403))),
		e2etest.Tool("test__slow", outlasts, e2etest.Within(time.Second), e2etest.Attempts(1)),
		e2etest.Tool("test__unknown", outlasts, e2etest.Within(time.Second), e2etest.Once),
		e2etest.Tool("test__large", gives(strings.Repeat("x", 2<<20))), e2etest.Tool("test__stored", gives(randomText(100_000))),
		toolspec.DefineSchema(wrong, json.RawMessage(`{"type":"object"}`), json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
			func(context.Context, json.RawMessage, toolspec.Call) (json.RawMessage, error) {
				return json.RawMessage(`{"text":1}`), nil
			}),
		toolspec.Define(pieces, func(context.Context, e2etest.In, toolspec.Call) (inPieces, error) {
			half := len(c.secret) / 2
			return inPieces{[]string{c.secret[:half], c.secret[half:]}}, nil
		}),
	))
}

// randomText returns a text that does not compress well.
func randomText(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()
}

// cases returns one call for each code except approval_stale, for which a second worker is necessary.
func (c *codeWorld) cases() map[toolspec.Code]func() toolspec.Result {
	w := c.World
	call := func(id, toolID, args string) func() toolspec.Result {
		return func() toolspec.Result { return w.Invoke(e2etest.Invocation(id, toolID, args)) }
	}
	return map[toolspec.Code]func() toolspec.Result{
		toolspec.CodeInvalidJSON:      call("invalid_json", "test__echo", `"{\"text\":"`),
		toolspec.CodeIncomplete:       c.cutOff,
		toolspec.CodeValidation:       call("validation", "test__echo", `{"unknown":1}`),
		toolspec.CodeUnavailable:      call("unavailable", "test__nothing", `{}`),
		toolspec.CodePolicyDenied:     call("policy_denied", "test__denied", `{}`),
		toolspec.CodeExecution:        call("execution", "test__fails", `{}`),
		toolspec.CodeTimeout:          call("timeout", "test__slow", `{}`),
		toolspec.CodeAborted:          call("aborted", "test__aborts", `{}`),
		toolspec.CodeOutputValidation: call("output_validation", "test__wrong", `{}`),
		toolspec.CodeRedactionFailed:  call("redaction_failed", "test__pieces", `{}`),
		toolspec.CodeResultTooLarge:   call("result_too_large", "test__large", `{}`),
		toolspec.CodeOutputQuota:      call("output_quota", "test__stored", `{}`),
		toolspec.CodeOutcomeUnknown:   call("outcome_unknown", "test__unknown", `{}`),
		toolspec.CodeInternal:         call("internal", "test__echo", `{}`),
		toolspec.CodeApprovalExpired:  call("approval_expired", "test__brief", `{}`),
		toolspec.CodeApprovalDenied:   c.denied,
		toolspec.CodeCancelled:        c.cancelled,
		toolspec.CodeCapacity:         c.full,
		toolspec.CodeNeedsReauth:      c.unusable,
		toolspec.CodeRateLimited: func() toolspec.Result {
			call("first", "test__limited", `{}`)()
			return call("rate_limited", "test__limited", `{}`)()
		},
		toolspec.CodeConflict: func() toolspec.Result {
			call("conflict", "test__echo", `{"text":"one"}`)()
			return w.RunAgain(e2etest.Invocation("conflict", "test__echo", `{"text":"two"}`))
		},
		toolspec.CodeAuthzDenied: func() toolspec.Result {
			inv := e2etest.Invocation("authz_denied", "test__echo", `{}`)
			inv.Context.TenantID = "globex"
			return w.Invoke(inv)
		},
	}
}

func (c *codeWorld) denied() toolspec.Result {
	call := c.Start(e2etest.Invocation("approval_denied", "test__asked", `{}`))
	d := e2etest.Approving(c.Waiting(call.WorkflowID).ApprovalID, e2etest.Ann)
	d.Decision = toolspec.Deny
	c.Decide(call.WorkflowID, d)
	return c.Result(call)
}

func (c *codeWorld) cancelled() toolspec.Result {
	call := c.Start(e2etest.Invocation("cancelled", "test__asked", `{}`))
	c.Waiting(call.WorkflowID)
	if err := c.Pawl.Cancel(c.T.Context(), call.WorkflowID); err != nil {
		c.T.Fatal(err)
	}
	return c.Result(call)
}

// full makes a call while another call has the only place of a semaphore.
func (c *codeWorld) full() toolspec.Result {
	first := c.Start(e2etest.Invocation("first-place", "test__single", `{}`))
	e2etest.Receive(c.T, c.single.Entered)
	defer c.Result(first)
	defer close(c.single.Release)
	return c.Invoke(e2etest.Invocation("capacity", "test__single", `{}`))
}

// unusable makes a call with a connection to which nobody has signed in.
func (c *codeWorld) unusable() toolspec.Result {
	p := broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{"api.example.com"}}
	if err := c.Store.AddConnection(c.T.Context(), connections.AddRow{Provider: p, Hosts: p.Hosts, Sealed: broker.Sealed{
		Binding: broker.At("acme", "c1", p, p.Hosts, 1), KeyID: 1, Bytes: []byte("sealed elsewhere"),
	}}, "e2etest"); err != nil {
		c.T.Fatal(err)
	}
	if _, err := c.Store.GrantConnection(c.T.Context(), "acme", "c1", e2etest.Actor, nil, 0, "e2etest"); err != nil {
		c.T.Fatal(err)
	}
	return c.Invoke(e2etest.Over(e2etest.Invocation("needs_reauth", "test__connected", `{}`), "c1"))
}

// cutOff runs a turn whose response ends in the middle of a call.
func (c *codeWorld) cutOff() toolspec.Result {
	agent := pawl.New(c.Temporal, pawl.Options{Outputs: c.Store, Catalogs: c.Store})
	var offer pawl.Offer
	var last error
	c.Until(func() bool {
		offer, last = agent.Offer(c.T.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor}, pawl.OfferOptions{Codec: openai.Codec{}})
		return last == nil && len(offer.Names.Tools) > 0
	}, "the worker has published its tools", &last)
	inv := e2etest.Invocation("incomplete", "test__echo", `{}`)
	reply, err := turn.Turn{Key: "t1", Codec: openai.Codec{}, Offer: offer, Context: inv.Context}.Take(c.T.Context(), agent, strings.NewReader(
		`{"id":"r","object":"chat.completion","choices":[{"index":0,"finish_reason":"length","message":{"role":"assistant","content":null,
			"tool_calls":[{"id":"incomplete","type":"function","function":{"name":"test__echo","arguments":"{\"text\":"}}]}}]}`))
	if err != nil {
		c.T.Fatal(err)
	}
	return reply.Outcomes[0].Result
}
