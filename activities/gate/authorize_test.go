package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestGateAsksTheEngine: the gate asks the engine once, without the arguments, and sends the permissions of the
// tenant's policy.
func TestGateAsksTheEngine(t *testing.T) {
	for basis, tenant := range map[authz.Basis]string{
		authz.ByPolicy: approvals, authz.ByRelations: approvals + "    permissions: relations\n",
	} {
		engine := authztest.New(func(context.Context, authz.Request) (authz.Decision, error) { return authz.Allow(), nil })
		p := judgetest.Parse(t, tenant)
		change := func(f *hook.Facts) {
			f.Submitter = &hook.Submitter{KeyID: "key"}
			f.Context.SubjectID, f.Context.GraphID, f.Context.ConnectionID, f.Context.SessionID = "user:sue", "g", "c", "s"
			f.Connection = &hook.Connection{Requested: true, Generation: 1, Status: "active", Grants: []hook.ConnectionGrant{{Grantee: "user:sue"}}}
		}
		v, _, err := judgeWith(t, p, engine, hook.WillAuthorize.Stage(), change)
		if err != nil || v.Outcome != hook.Continue {
			t.Fatalf("got %+v, %v", v, err)
		}
		want := []authz.Request{{
			TenantID: "acme", ActorID: "user:ann", SubjectID: "user:sue", Submitter: "key", Permission: "tool.execute", ToolID: "core__tool",
			ConnectionID: "c", GraphID: "g", SessionID: "s", RunID: "run-1", Basis: basis,
		}}
		if got := engine.Asked(); !reflect.DeepEqual(got, want) {
			t.Errorf("asked %+v, want %+v", got, want)
		}
		if _, _, err := judgeWith(t, p, engine, hook.WillCheckConsent.Stage(), change); err != nil || len(engine.Asked()) != 1 {
			t.Errorf("asked %d times, %v", len(engine.Asked()), err)
		}
	}
}

func TestEngineDenies(t *testing.T) {
	for lacks, want := range map[authz.Lack][2]string{
		authz.Permission: {"authorization: permission", "the actor may not run this tool"},
		authz.Delegation: {"authorization: delegation", "the subject has not delegated this to the actor"},
		authz.Trust:      {"authorization: trust", "nobody who is trusted vouches for the subject"},
		"":               {"authorization", ""}, canary: {"authorization", ""},
	} {
		engine := authztest.New(func(context.Context, authz.Request) (authz.Decision, error) { return authz.Deny(lacks), nil })
		v, log, err := judgeWith(t, judgetest.Parse(t, approvals), engine, hook.WillAuthorize.Stage(), nil)
		if err != nil || v.Failure == nil || v.Failure.Code != toolspec.CodeAuthzDenied || v.Failure.SafeMessage != want[1] || v.Failure.Details.Rule != want[0] ||
			v.Delta.Rule != want[0] {
			t.Errorf("%q: %+v, %+v, %v", lacks, v, v.Failure, err)
		}
		if !strings.Contains(log, `"level":"WARN","msg":"authorization denied a call"`) || !strings.Contains(log, `"toolCallId":"call-1","invocationId":"inv"`) {
			t.Errorf("%q: logged %s", lacks, log)
		}
	}
}

// TestPolicyDeniesFirst: if policy denies a call, the engine is not asked, and the failure is that of policy.
func TestPolicyDeniesFirst(t *testing.T) {
	for name, change := range map[string]func(*hook.Facts){
		"a deny rule": func(*hook.Facts) {}, "no policy": func(f *hook.Facts) { f.PolicyDigest = "" },
		"another tenant": func(f *hook.Facts) { f.Context.TenantID = "other" },
	} {
		engine := authztest.DenyAll()
		v, _, err := judgeWith(t, judgetest.Parse(t, approvals+"    rules: [{tool: core__tool, decision: deny}]\n"), engine, hook.WillAuthorize.Stage(), change)
		if err != nil || v.Failure == nil || v.Failure.Code != toolspec.CodePolicyDenied || len(engine.Asked()) != 0 {
			t.Errorf("%s: %+v, %v after %d questions", name, v, err, len(engine.Asked()))
		}
	}
}

// TestEngineWithoutAnAnswer (case 46 of docs/internals/faults.md): an engine that is down, slow, panics or
// returns nonsense lets no call pass. The call waits, and no text of the engine leaves the worker.
func TestEngineWithoutAnAnswer(t *testing.T) {
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	for name, answer := range map[string]func(context.Context, authz.Request) (authz.Decision, error){
		"down": func(context.Context, authz.Request) (authz.Decision, error) { return authz.Allow(), errors.New(canary) },
		"passing": func(context.Context, authz.Request) (authz.Decision, error) {
			return authz.Allow(), errs.Transient(errors.New(canary))
		},
		"panics": func(context.Context, authz.Request) (authz.Decision, error) { panic(canary) },
		"slow": func(ctx context.Context, _ authz.Request) (authz.Decision, error) {
			<-ctx.Done()
			return authz.Allow(), ctx.Err()
		},
		"slow and deaf":   func(context.Context, authz.Request) (authz.Decision, error) { <-released; return authz.Allow(), nil },
		"ends its thread": func(context.Context, authz.Request) (authz.Decision, error) { panic(nil) }, //nolint:govet // panic(nil) is a panic too
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, _, err := judgeWith(t, judgetest.Parse(t, approvals), authztest.New(answer), hook.WillAuthorize.Stage(), nil)
			if !errs.IsTransient(err) || strings.Contains(errs.Reason(err), canary) || !strings.Contains(errs.Reason(err), "authorization engine") {
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
	t.Run("nonsense", func(t *testing.T) {
		v, _, err := judgeWith(t, judgetest.Parse(t, approvals), authztest.New(func(context.Context, authz.Request) (authz.Decision, error) {
			return authz.Decision{}, nil
		}), hook.WillAuthorize.Stage(), nil)
		if err != nil || v.Failure == nil || v.Failure.Code != toolspec.CodeAuthzDenied {
			t.Errorf("got %+v, %v", v, err)
		}
	})
}

// TestNoGateWithoutAnEngine: Steps panics without an authorization engine.
func TestNoGateWithoutAnEngine(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a gate was made")
		}
	}()
	gate.Steps(gate.Parts{Policies: judgetest.Policies{}, Log: slog.New(slog.DiscardHandler)})
}

// TestUnvouchedSubject: if no trusted submitter vouches for the subject, the call is refused with the reason,
// and the engine is not asked.
func TestUnvouchedSubject(t *testing.T) {
	for want, submitter := range map[string]*hook.Submitter{
		"nobody who is trusted vouches for the subject": nil, "it is over": {Fault: "it is over"},
	} {
		engine := authztest.New(func(context.Context, authz.Request) (authz.Decision, error) { return authz.Allow(), nil })
		v, _, err := judgeWith(t, judgetest.Parse(t, approvals), engine, hook.WillAuthorize.Stage(), func(f *hook.Facts) {
			f.Context.SubjectID, f.Submitter = "user:sue", submitter
		})
		if err != nil || v.Failure == nil || v.Failure.Code != toolspec.CodeAuthzDenied || v.Failure.SafeMessage != want ||
			v.Failure.Details.Rule != "authorization: trust" || len(engine.Asked()) != 0 {
			t.Errorf("got %+v, %v, want %q", v.Failure, err, want)
		}
	}
}
