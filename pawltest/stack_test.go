package pawltest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hook"
)

func named(id string) func(*toolspec.Definition) {
	return func(d *toolspec.Definition) { d.ID = id }
}

func risky(d *toolspec.Definition) { d.Risk = toolspec.HighRisk }

// TestStack: whole calls run on the real servers, with approvals of people, hooks and connections.
func TestStack(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(strings.Fields(r.Header.Get("Authorization"))[0]))
	}))
	defer service.Close()
	var seen atomic.Int32
	p := pawltest.Start(t, pawltest.Options{
		Tools: []toolspec.Tool{
			tool(echo), tool(echo, named("test__send"), once, risky),
			tool(fetch(service.URL), named("test__fetch"), func(d *toolspec.Definition) {
				d.RequiresConnection, d.Capabilities = true, []toolspec.CapabilityName{capability.ClientsKey.Name()}
			}),
		},
		Hooks: []hook.Hook{hook.New("sees", hook.DidAudit.Do(func(context.Context, *hook.Report) error { seen.Add(1); return nil }))},
	})
	if r := p.Invoke(pawltest.Invocation("test__tool", `{"text":"hello"}`)); !r.OK || string(r.Value) != `{"text":"hello"}` || seen.Load() == 0 {
		t.Errorf("%+v, %d calls were seen", r, seen.Load())
	}
	if r := p.Invoke(pawltest.Invocation("test__tool", `{"text":1}`)); r.ErrorCode != toolspec.CodeValidation || r.Attempts != 0 {
		t.Errorf("%+v", r)
	}
	approved := p.Start(pawltest.Invocation("test__send", `{"text":"hello"}`))
	if answer := p.Decide(approved, pawltest.Actor, toolspec.Approve); answer.Counted {
		t.Error("the requester approved")
	}
	if answer := p.Decide(approved, "user:ann", toolspec.Approve); !answer.Counted {
		t.Errorf("%+v", answer)
	}
	if r := p.Result(approved); !r.OK {
		t.Errorf("%+v", r)
	}
	denied := p.Start(pawltest.Invocation("test__send", `{"text":"hello"}`))
	if answer := p.Decide(denied, "user:ann", toolspec.Deny); !answer.Counted {
		t.Errorf("%+v", answer)
	}
	if r := p.Result(denied); r.ErrorCode != toolspec.CodeApprovalDenied {
		t.Errorf("%+v", r)
	}
	p.Connect(pawltest.Connection{ID: "shop", Provider: broker.Provider{
		ID: "shop", Kind: broker.Bearer, Hosts: []string{service.Listener.Addr().String()}, Insecure: true,
	}})
	inv := pawltest.Invocation("test__fetch", `{"text":"a"}`)
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = "shop", []string{"shop"}
	if r := p.Invoke(inv); !r.OK || string(r.Value) != `{"text":"Bearer"}` {
		t.Errorf("%+v", r)
	}
}

// TestStackPolicy: the policy of the test is the active one, and a person approves a call once.
func TestStackPolicy(t *testing.T) {
	t.Parallel()
	rules, err := policy.Parse("policy.yaml", []byte("version: 1\ntenants:\n  acme: {allowedTools: [core__*], mode: yolo, rules: [{tool: core__write_file, decision: require_approval, approvals: {approvers: ['user:*'], quorum: 2}}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := pawltest.Start(t, pawltest.Options{Tools: []toolspec.Tool{tool(echo)}, Policy: rules})
	if r := p.Invoke(pawltest.Invocation("test__tool", `{"text":"hello"}`)); r.ErrorCode != toolspec.CodePolicyDenied {
		t.Errorf("%+v", r)
	}
	if r := p.Invoke(pawltest.Invocation("core__ls", `{}`)); !r.OK {
		t.Errorf("%+v", r)
	}
	call := p.Start(pawltest.Invocation("core__write_file", `{"path":"a","content":"b"}`))
	for i, who := range []string{"user:ann", "user:ann", "user:bob"} {
		if answer := p.Decide(call, who, toolspec.Approve); answer.Counted == (i == 1) {
			t.Errorf("decision %d of %s: %+v", i, who, answer)
		}
	}
	if r := p.Result(call); !r.OK {
		t.Errorf("%+v", r)
	}
}

// ending is a test whose time ends soon.
type ending struct{ testing.TB }

func (ending) Deadline() (time.Time, bool) { return time.Now().Add(11 * time.Second), true }

// TestStackWaits: a wait ends before the time of the test, and says what the call waits for. The name of the subtest may have braces, which are
// special in the path of a workspace.
func TestStackWaits(t *testing.T) {
	t.Parallel()
	t.Run(`{"text":1}`, func(t *testing.T) {
		waited := why(t, func(tb testing.TB) {
			p := pawltest.Start(ending{tb}, pawltest.Options{Tools: []toolspec.Tool{tool(echo, once, risky)}})
			p.Result(p.Start(pawltest.Invocation("test__tool", `{"text":"hello"}`)))
		})
		if !strings.Contains(waited, "has not ended; its state is waiting_approval, its stage requestApproval.") {
			t.Errorf("the test ended because %q", waited)
		}
	})
}
