package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/worker"
)

type text struct {
	Text string `json:"text"`
}

// define returns a read-only tool.
func define(id string, connected bool, f func(context.Context, text, toolspec.Call) (text, error)) toolspec.Tool {
	d := toolspec.Definition{
		ID: id, Description: "a tool of a test", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, RequiresConnection: connected,
	}
	if connected {
		d.Capabilities = []toolspec.CapabilityName{capability.ClientsKey.Name()}
	}
	return toolspec.Define(d, f)
}

// caesar is a signer that adds one header to requests.
type caesar struct{}

func (caesar) Name() string    { return "caesar" }
func (caesar) Parts() []string { return []string{"seal"} }
func (caesar) Sign(r *http.Request, _ []byte, part func(string) []byte, _ time.Time) error {
	r.Header.Set("X-Seal", fmt.Sprint(len(part("seal"))))
	return nil
}

// TestSigners: requests of a connection of the kind signed have the signature of the signer of the worker.
func TestSigners(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Seen", r.Header.Get("X-Seal")) }))
	t.Cleanup(service.Close)
	ask := define("test__ask", true, func(ctx context.Context, _ text, call toolspec.Call) (text, error) {
		client, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID)
		if err != nil {
			return text{}, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, service.URL, http.NoBody)
		if err != nil {
			return text{}, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return text{}, err
		}
		return text{resp.Header.Get("Seen")}, resp.Body.Close()
	})
	p := pawltest.Start(t, pawltest.Options{Tools: []toolspec.Tool{ask}, Worker: []worker.Option{worker.Signers(caesar{})}})
	p.Connect(pawltest.Connection{
		ID: "rome", Signers: []broker.Signer{caesar{}}, Credential: map[string]string{"seal": "veni-vidi-vici"},
		Provider: broker.Provider{ID: "rome", Kind: broker.Signed, Signer: "caesar", Hosts: []string{strings.TrimPrefix(service.URL, "http://")}, Insecure: true},
	})
	inv := pawltest.Invocation("test__ask", `{"text":""}`)
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = "rome", []string{"rome"}
	if got := p.Invoke(inv); string(got.Value) != `{"text":"14"}` {
		t.Errorf("got %+v", got)
	}
}

// guesser replaces all arguments, which the built-in repairer never does.
type guesser struct{}

func (guesser) Name() string { return "guesser" }
func (guesser) Repair(hydrate.Damage) (args []byte, repairs []string, ok bool) {
	return []byte(`{"text":"guessed"}`), []string{"guess"}, true
}

// TestRepairer: the repairer of the worker repairs arguments, and a person approves the repaired arguments.
func TestRepairer(t *testing.T) {
	t.Parallel()
	rules, err := policy.Parse("policy.yaml", []byte("version: 1\ntenants: {acme: {allowedTools: [test__*], mode: auto, repair: [test__*], approvals: {enabled: true}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	echo := define("test__echo", false, func(_ context.Context, in text, _ toolspec.Call) (text, error) { return in, nil })
	p := pawltest.Start(t, pawltest.Options{Tools: []toolspec.Tool{echo}, Policy: rules, Worker: []worker.Option{worker.Repairer(guesser{})}})
	call := p.Start(pawltest.Invocation("test__echo", `{"text":[]}`))
	if answer := p.Decide(call, "user:ann", toolspec.Approve); !answer.Counted {
		t.Errorf("the approval does not count: %s", answer.Reason)
	}
	if got := p.Result(call); string(got.Value) != `{"text":"guessed"}` {
		t.Errorf("got %+v", got)
	}
}
