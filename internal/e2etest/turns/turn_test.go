package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	llm "github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/worker"
)

// TestTurn: a stream has three interleaved calls: a malformed one, a denied one and a valid one. They are answered in their order (HY-14, AG-05…AG-07, WF-17).
// When the same response is taken again, immediately and later, nothing runs twice and the answers are the same.
func TestTurn(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(
		e2etest.Tool("test__echo", effects.Counted(e2etest.Echo)),
		e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Idempotent),
		e2etest.Tool("test__forbidden", effects.Counted(e2etest.Echo)),
	))
	k := newTurnClient(w, openai.Codec{}, 2)
	if _, err := k.offer.Names.Resolve("test__forbidden"); err == nil || strings.Contains(string(k.offer.Tools), "test__forbidden") {
		t.Errorf("what is denied is offered: %s", k.offer.Tools)
	}
	response := interleaved(
		wanted{"call_bad", "test__write", `{"text":"canary4711`}, wanted{"call_denied", "test__forbidden", `{"text":"no"}`},
		wanted{"call_good", "test__write", `{"text":"yes"}`},
	)
	tu := k.turn("t1", openai.Codec{})
	reply, messages := k.take(t, tu, response)
	if reply.Response.Finish != llm.FinishCalls || len(messages) != 4 {
		t.Fatalf("finished as %s with %q", reply.Response.Finish, messages)
	}
	var said struct {
		Role      string
		ToolCalls []struct{ ID string } `json:"tool_calls"`
	}
	if err := json.Unmarshal(reply.Messages[0], &said); err != nil || said.Role != "assistant" || len(said.ToolCalls) != 3 {
		t.Errorf("the first message is %s", messages[0])
	}
	for i, want := range []struct{ id, content string }{
		{"call_bad", `Error executing tool: {"ok":false,"errorCode":"invalid_json","message":"Invalid tool arguments JSON"}`},
		{"call_denied", `Error executing tool: {"ok":false,"errorCode":"policy_denied","message":"not for agents"}`},
		{"call_good", `{"text":"yes"}`},
	} {
		var m struct {
			Role       string
			ToolCallID string `json:"tool_call_id"`
			Content    string
		}
		if err := json.Unmarshal(reply.Messages[i+1], &m); err != nil || m.Role != "tool" || m.ToolCallID != want.id ||
			m.Content != want.content {
			t.Errorf("message %d is %s, want the answer %[4]s to %[3]s", i+1, messages[i+1], want.id, want.content)
		}
		if strings.Contains(messages[i+1], "canary4711") {
			t.Errorf("the answer repeats what was sent: %s", messages[i+1])
		}
	}
	// Each call has a record, also the malformed one (HY-16).
	for id, outcome := range map[string]toolspec.Code{"call_bad": toolspec.CodeInvalidJSON, "call_denied": toolspec.CodePolicyDenied,
		"call_good": ""} {
		if detail := w.Record(e2etest.Invocation(id, "test__write", `{}`)); detail.Result == nil || detail.Result.ErrorCode != outcome {
			t.Errorf("%s is recorded with %+v", id, detail.Result)
		}
	}

	// The worker refused the malformed arguments, and recorded where they came from.
	if row := e2etest.Scalar[string](w, `SELECT outcome || ' ' || provider_tool FROM hydrations WHERE invocation_id = '`+
		e2etest.Invocation("call_bad", "test__write", `{}`).Identity().InvocationID()+`'`); row != "parse test__write" {
		t.Errorf("of the malformed call is known %q", row)
	}

	var again sync.WaitGroup
	for range 8 {
		again.Go(func() {
			if _, same := k.take(t, tu, response); !slices.Equal(same, messages) {
				t.Errorf("again it is answered with %q, not %q", same, messages)
			}
		})
	}
	again.Wait()
	if bad, denied, good := effects.Of("call_bad"), effects.Of("call_denied"), effects.Of("call_good"); bad != 0 || denied != 0 || good != 1 {
		t.Errorf("they ran %d, %d and %d times", bad, denied, good)
	}
}

// TestTurnTakenAtOnce: when many clients take the same new turn at the same time, each gets the same messages, and each call runs once.
func TestTurnTakenAtOnce(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	effects := echoes(w)
	k := newTurnClient(w, openai.Codec{}, 2)
	// The calls have no ids. The turn makes ids, which are the same for every client.
	response := interleaved(wanted{"", "test__write", `{"text":"a"}`}, wanted{"", "test__echo", `{"text":"b"}`},
		wanted{"", "test__write", `{"text":"c"}`})
	all := make(chan []string, 10)
	var running sync.WaitGroup
	for range cap(all) {
		running.Go(func() {
			_, messages := k.take(t, k.turn("t1", openai.Codec{}), response)
			all <- messages
		})
	}
	running.Wait()
	close(all)
	first := <-all
	if len(first) != 4 {
		t.Fatalf("the messages are %q", first)
	}
	for messages := range all {
		if !slices.Equal(messages, first) {
			t.Errorf("one is answered with %q, another with %q", first, messages)
		}
	}
	for _, id := range []string{"t1-0", "t1-1", "t1-2"} {
		if n := effects.Of(id); n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
}

// TestTurnBesides: calls that cannot run do not affect the other calls, and each gets an answer (HY-14, PT-05). They are a call with a name that no tool has, one
// that was not offered, one that does not fit the schema, the same call twice, and one with an id that is in use.
func TestTurnBesides(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__echo", effects.Counted(e2etest.Echo)), e2etest.Tool("test__other", effects.Counted(e2etest.Echo))))
	k := newTurnClient(w, openai.Codec{}, 2)
	picked, err := k.Offer(t.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor}, pawl.OfferOptions{
		Codec: openai.Codec{}, Pick: func(c catalog.Catalog) []catalog.Entry {
			one, _ := c.Get("test__echo")
			return []catalog.Entry{one, {Spec: toolspec.Spec{Name: "core__not_seen", InputSchema: json.RawMessage(`{}`)}}}
		},
	})
	if err != nil || len(picked.Names.Tools) != 1 {
		t.Fatalf("picked is %+v, %v", picked.Names, err)
	}
	fitting, err := k.Offer(t.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor},
		pawl.OfferOptions{Codec: openai.Codec{}, Query: &catalog.Query{Text: "other", K: 1}})
	if err != nil || len(fitting.Names.Tools) != 1 || fitting.Names.Tools[0].ToolID != "test__other" {
		t.Fatalf("what fits is %+v, %v", fitting.Names, err)
	}
	k.offer = picked
	reply, messages := k.take(t, k.turn("t1", openai.Codec{}), interleaved(
		wanted{"c0", "read file", `{"text":"a"}`}, wanted{"c1", "test__other", `{"text":"b"}`},
		wanted{"c2", "test__echo", `{"text":7,"more":1}`},
		wanted{"c3", "test__echo", `{"text":"d"}`}, wanted{"c3", "test__echo", `{"text":"d"}`}, wanted{"c3", "test__echo", `{"text":"e"}`},
		wanted{"c6", "test__missing", `{}`},
	))
	var codes []string
	for _, o := range reply.Outcomes {
		codes = append(codes, string(o.Result.ErrorCode))
	}
	if got := strings.Join(codes, ","); got != "unavailable,,validation,,,conflict,unavailable" {
		t.Errorf("they ended with %s", got)
	}
	if !strings.Contains(messages[3], `\"path\":\"/text\"`) || !strings.Contains(messages[3], `\"path\":\"/more\"`) {
		t.Errorf("the model cannot see what to correct: %s", messages[3])
	}
	if effects.Of("c1") != 1 || effects.Of("c3") != 1 {
		t.Errorf("c1 ran %d times and c3 %d times", effects.Of("c1"), effects.Of("c3"))
	}
	// A call with an invalid name of a tool is recorded under a name that no tool can have, with the text of the model (HY-16).
	inv := e2etest.Invocation("c0", toolspec.UnknownTool("read file"), `{"text":"a"}`)
	if detail := w.Record(inv); detail.Result == nil || detail.Result.ErrorCode != toolspec.CodeUnavailable || detail.ToolID != inv.ToolID {
		t.Errorf("recorded is %+v", detail)
	}
	// A response that was cut off runs no call and uses up no id: when the complete response comes, its call runs.
	whole := interleaved(wanted{"c7", "test__echo", `{"text":"late"}`})
	cut, _, _ := strings.Cut(whole, `"tool_calls"}]}`)
	reply, _ = k.take(t, k.turn("t2", openai.Codec{}), cut[:strings.LastIndex(cut, "data: ")])
	if o := reply.Outcomes[0]; o.Result.ErrorCode != toolspec.CodeIncomplete || o.WorkflowID != "" || effects.Of("c7") != 0 {
		t.Errorf("cut off, it ended with %+v", o)
	}
	if reply, _ = k.take(t, k.turn("t2", openai.Codec{}), whole); !reply.Outcomes[0].Result.OK || effects.Of("c7") != 1 {
		t.Errorf("whole, it ended with %+v", reply.Outcomes[0].Result)
	}
}

// TestTurnWaits: a turn whose call waits for a person stops waiting after its limit, and goes on at the same point when it is taken again. A call after an effect
// does not run before the effect.
func TestTurnWaits(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__read", effects.Counted(e2etest.Echo)),
		e2etest.Tool("test__asked", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	k := newTurnClient(w, openai.Codec{}, 2)
	response := interleaved(wanted{"r1", "test__read", `{"text":"before"}`}, wanted{"w1", "test__asked", `{"text":"write"}`},
		wanted{"r2", "test__read", `{"text":"after"}`})
	tu := k.turn("t1", openai.Codec{})
	tu.Wait = 2 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 2*e2etest.WaitTimeout)
	defer cancel()
	var reply turn.Reply
	var err error
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		reply, err = tu.Take(ctx, k.Client, strings.NewReader(response))
	}()
	// The turn waits for the approval until its own limit ends.
	view := w.Waiting("tool:acme:run:w1")
	short := tu
	short.Wait = 8 * time.Second // long enough for the other calls on a busy machine
	early, earlyErr := short.Take(ctx, k.Client, strings.NewReader(response))
	if earlyErr != nil || early.Messages != nil || len(early.Pending()) != 2 {
		t.Fatalf("while it waits: %+v, %v", early, earlyErr)
	}
	if read, asks, behind := early.Outcomes[0], early.Outcomes[1], early.Outcomes[2]; !read.Result.OK || read.Pending || !asks.Started ||
		behind.Started || effects.Of("r2") != 0 {
		t.Errorf("while it waits: %+v", early.Outcomes)
	}
	if answer := w.Decide("tool:acme:run:w1", e2etest.Approving(view.ApprovalID, e2etest.Ann)); !answer.Counted {
		t.Fatalf("the approval did not count: %s", answer.Reason)
	}
	<-returned
	if err != nil || len(reply.Messages) != 4 {
		t.Fatalf("approved: %+v, %v", reply, err)
	}
	if effects.Of("r1") != 1 || effects.Of("w1") != 1 || effects.Of("r2") != 1 {
		t.Errorf("they ran %d, %d and %d times", effects.Of("r1"), effects.Of("w1"), effects.Of("r2"))
	}
	_, messages := k.take(t, tu, response)
	for i, want := range []string{"before", "write", "after"} {
		if !strings.Contains(messages[i+1], want) {
			t.Errorf("message %d is %s", i+1, messages[i+1])
		}
	}
}

// TestTurnInParallel: reads run at the same time up to the limit, and each call with an effect runs alone, after the calls before it (AG-09).
func TestTurnInParallel(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	var mu sync.Mutex
	var order []string
	running, most := 0, 0
	meet := make(chan struct{})
	w.Work(worker.Tools(
		e2etest.Tool("test__meet", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			// Two reads must be here at the same time to go on.
			select {
			case meet <- struct{}{}:
			case <-meet:
			case <-ctx.Done():
			}
			mu.Lock()
			running--
			mu.Unlock()
			return e2etest.Echo(ctx, in, call)
		}),
		e2etest.Tool("test__write", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			mu.Lock()
			order = append(order, call.ToolCallID)
			mu.Unlock()
			return e2etest.Echo(ctx, in, call)
		}, e2etest.Idempotent),
	))
	k := newTurnClient(w, openai.Codec{}, 2)
	var calls []wanted
	for i := range 10 {
		calls = append(calls, wanted{fmt.Sprintf("c%d", i), []string{"test__meet", "test__write"}[min(i/4, 1)], fmt.Sprintf(`{"text":"%d"}`, i)})
	}
	tu := k.turn("t1", openai.Codec{})
	tu.AtOnce = 2
	reply, messages := k.take(t, tu, interleaved(calls...))
	for i, o := range reply.Outcomes {
		if want := fmt.Sprintf(`{"text":"%d"}`, i); string(o.Result.Value) != want ||
			!strings.Contains(messages[i+1], fmt.Sprintf(`\"text\":\"%d\"`, i)) {
			t.Errorf("call %d ended with %+v and the message %s", i, o.Result, messages[i+1])
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(order, " "); most != 2 || got != "c4 c5 c6 c7 c8 c9" {
		t.Errorf("%d reads ran at once, and effects in the order %s", most, got)
	}
}

// TestTurnOfAClientThatIsKilled: the program that takes a turn is killed in the middle of it. When the turn is taken again, its calls go on, and the call that has
// run does not run again.
func TestTurnOfAClientThatIsKilled(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	var effects e2etest.Ledger
	reached, release := make(chan struct{}, 8), make(chan struct{})
	w.Work(worker.Tools(
		e2etest.Tool("test__slow", effects.Counted(func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			reached <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return e2etest.Out{}, ctx.Err()
			}
			return e2etest.Echo(ctx, in, call)
		}), e2etest.Once),
		e2etest.Tool("test__echo", effects.Counted(e2etest.Echo)),
	))
	k := newTurnClient(w, openai.Codec{}, 2)
	response := interleaved(wanted{"slow", "test__slow", `{"text":"a"}`}, wanted{"", "test__echo", `{"text":"b"}`})
	args := []string{"turn", "--format", "openai", "--stream", "--tenant", "acme", "--run", "run", "--actor", e2etest.Actor, "--turn", "t1"}
	first := w.Child(context.WithoutCancel(t.Context()), e2etest.ChildCommand, args...)
	first.Stdin, first.Stdout, first.Stderr = strings.NewReader(response), io.Discard, w.Log
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	e2etest.Receive(t, reached)
	e2etest.Kill(first)
	// The turn is also taken with a context that is already cancelled.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tu := k.turn("t1", openai.Codec{})
	if reply, err := tu.Take(ctx, k.Client, strings.NewReader(response)); !errors.Is(err, pawl.ErrNoAnswer) || reply.Messages != nil ||
		len(reply.Pending()) != 2 {
		t.Errorf("of a caller that went away: %+v, %v", reply, err)
	}
	close(release)
	_, messages := k.take(t, tu, response)
	if effects.Of("slow") != 1 || effects.Of("t1-1") != 1 || len(messages) != 3 {
		t.Errorf("they ran %d and %d times: %q", effects.Of("slow"), effects.Of("t1-1"), messages)
	}
	// The command prints the same messages.
	ctx, cancel = context.WithTimeout(t.Context(), e2etest.WaitTimeout)
	defer cancel()
	second := w.Child(ctx, e2etest.ChildCommand, args...)
	second.Stdin = strings.NewReader(response)
	text, err := second.Output()
	var printed []json.RawMessage
	if err != nil || json.Unmarshal(text, &printed) != nil || len(printed) != 3 {
		t.Fatalf("the command prints %s, %v", text, err)
	}
	for i, m := range printed {
		if same, err := sameJSON(m, []byte(messages[i])); err != nil || !same {
			t.Errorf("the command prints %s, and the client says %s", m, messages[i])
		}
	}
}

func sameJSON(a, b []byte) (bool, error) {
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		return false, err
	}
	return e2etest.AsJSON(x) == e2etest.AsJSON(y), nil
}

// TestTurnOfATerminatedCall: for a call that was terminated, the model gets the answer that its outcome is unknown, and the turn ends.
func TestTurnOfATerminatedCall(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__asked", e2etest.Echo, e2etest.Once, e2etest.Risky), e2etest.Tool("test__echo", e2etest.Echo)))
	k := newTurnClient(w, openai.Codec{}, 2)
	response := interleaved(wanted{"a", "test__asked", `{"text":"a"}`}, wanted{"b", "test__echo", `{"text":"b"}`})
	tu := k.turn("t1", openai.Codec{})
	tu.Wait = time.Second
	var last error
	w.Until(func() bool {
		var reply turn.Reply
		reply, last = tu.Take(t.Context(), k.Client, strings.NewReader(response))
		return last == nil && len(reply.Outcomes) == 2 && reply.Outcomes[0].Started
	}, "the call waits", &last)
	if err := w.Temporal.TerminateWorkflow(t.Context(), "tool:acme:run:a", "", "a test"); err != nil {
		t.Fatal(err)
	}
	reply, messages := k.take(t, k.turn("t1", openai.Codec{}), response)
	if reply.Outcomes[0].Result.ErrorCode != toolspec.CodeOutcomeUnknown || !reply.Outcomes[1].Result.OK ||
		!strings.Contains(messages[1], "outcome_unknown") {
		t.Errorf("it is answered with %q", messages)
	}
}
