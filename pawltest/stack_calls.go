package pawltest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// Invocation returns a call by Actor of Tenant, with a new id. args is JSON text. Change its
// fields for another caller or a connection.
func Invocation(toolID, args string) toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: toolID, ToolCallID: "call-" + rand.Text(), Args: json.RawMessage(args),
		Context: toolspec.Context{TenantID: Tenant, ActorID: Actor, RunID: "test"},
	}
}

// longestWait bounds a wait. It ends before the time of the test binary, because a test that exceeds its time shows no log.
func (s *Stack) longestWait() time.Duration {
	if t, ok := s.t.(interface{ Deadline() (time.Time, bool) }); ok {
		if at, has := t.Deadline(); has {
			return min(waitTimeout, max(time.Until(at)-reportTime, time.Second))
		}
	}
	return waitTimeout
}

// Invoke runs a call to its end.
func (s *Stack) Invoke(inv toolspec.Invocation) toolspec.Result {
	s.t.Helper()
	return s.Result(s.Start(inv))
}

// Start starts a call.
func (s *Stack) Start(inv toolspec.Invocation) *client.Call {
	s.t.Helper()
	call, err := s.Client.Start(s.t.Context(), inv)
	if err != nil {
		s.t.Fatal(err)
	}
	return call
}

// Result waits for the end of a call. A call that ends without a value is no error.
func (s *Stack) Result(call *client.Call) toolspec.Result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), s.longestWait())
	defer cancel()
	result, err := s.Client.Result(ctx, call)
	var ended *client.CallError
	switch {
	case errors.As(err, &ended):
		return ended.Result
	case ctx.Err() != nil:
		state, _ := s.Client.State(s.t.Context(), call.WorkflowID) // empty if there is none
		s.t.Fatalf("pawltest: %s has not ended; its state is %s, its stage %s. %s", call.WorkflowID, state.Status, state.Stage, state.Waiting)
	case err != nil:
		s.t.Fatal(err)
	}
	return result
}

// Waiting waits until a call asks a person, and returns what the person sees. A call that does
// not ask ends the test.
func (s *Stack) Waiting(call *client.Call) toolspec.ApprovalView {
	s.t.Helper()
	var state toolspec.State
	var err error
	if !devstacktest.Eventually(s.t.Context(), s.longestWait(), func() bool {
		state, err = s.Client.State(s.t.Context(), call.WorkflowID)
		return err == nil && (state.Approval != nil || state.Status == toolspec.StatusSettled)
	}) {
		s.t.Fatalf("pawltest: %s asks nobody: %s, %v", call.WorkflowID, state.Status, err)
	}
	if state.Approval == nil {
		s.t.Fatalf("pawltest: %s ended and asked nobody: %+v", call.WorkflowID, s.Result(call))
	}
	return *state.Approval
}

// Decide waits until a call asks, and decides as a person, such as "user:ann". The decision is
// signed with a key of that person, which is registered for the call's tenant. The answer says
// whether it counted.
func (s *Stack) Decide(call *client.Call, person string, verb toolspec.Verb) toolspec.Answer {
	s.t.Helper()
	view := s.Waiting(call)
	tenantID := strings.Split(call.WorkflowID, ":")[1] // see toolspec.Identity
	// A decision with the same signature repeats the first one. So no two of them are valid for the same time.
	lifetime := time.Duration(s.decisions.Add(1)) * time.Second
	d, err := s.keyOf(tenantID, person).Sign(toolspec.Decision{
		ApprovalID: view.ApprovalID, Decision: verb, Digest: view.Digest, Approver: person,
	}, tenantID, time.Now(), time.Hour+lifetime)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), s.longestWait())
	defer cancel()
	answer, err := s.Client.Decide(ctx, call.WorkflowID, d)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// keyOf returns the key of a person, and registers it the first time.
func (s *Stack) keyOf(tenantID, identity string) proof.Signer {
	s.t.Helper()
	s.signing.Lock() // parallel subtests decide too
	defer s.signing.Unlock()
	who := signee{tenantID, identity}
	if key, known := s.people[who]; known {
		return key
	}
	key, err := proof.NewSigner()
	if err == nil {
		err = s.store.RegisterKey(s.t.Context(), tenantID, identity, key.Key(), "pawltest")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.people[who] = key
	return key
}

// Connect adds a connection of Tenant and grants it to Actor. Its requests go to a real address,
// so the provider must name the address of a server of the test. Set Insecure in the provider if
// that server has no TLS. Service must not be set.
func (s *Stack) Connect(n Connection) {
	s.t.Helper()
	if n.Service != nil || n.Provider.ID == "" {
		s.t.Fatal("pawltest: a connection of a Stack needs a Provider with the address of the service, and no Service")
	}
	n = n.withDefaults(s.t, s.scopes)
	credential := n.credential(s.t)
	defer credential.Destroy()
	at := broker.At(Tenant, n.ID, n.Provider, n.Provider.Hosts, 1)
	sealed, err := broker.New(s.store, s.ring, broker.Options{}).Seal(credential, at, time.Time{})
	if err == nil {
		err = s.store.AddConnection(s.t.Context(), connections.AddRow{
			Provider: n.Provider, Hosts: n.Provider.Hosts, Scopes: n.Scopes, Sealed: sealed, SignedIn: true,
		}, "pawltest")
	}
	if err == nil {
		_, err = s.store.GrantConnection(s.t.Context(), Tenant, n.ID, Actor, n.Scopes, 0, "pawltest")
	}
	if err != nil {
		s.t.Fatal(fmt.Errorf("pawltest: connect %s: %w", n.ID, err))
	}
}
