package turns

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

// chunk returns an event of a stream of Chat Completions.
func chunk(delta, reason string) string {
	return fmt.Sprintf("data: {\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, reason)
}

// TestPublishedTurn: the watchers of a run get the text of a response while it arrives and before its calls, and the end of a response without calls. They get
// each of these events once, even if several programs take the turn (EV-05, EV-06).
func TestPublishedTurn(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	echoes(w)
	k := newTurnClient(w, openai.Codec{}, 2)
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
	defer cancel()
	var seen []toolspec.RunEvent
	// next returns the next events of the run up to one of a kind.
	next := func(kind toolspec.RunEventKind) {
		t.Helper()
		after := int64(len(seen))
		for e, err := range k.Watch(ctx, "acme", "run", after) {
			if err != nil {
				t.Fatal(err)
			}
			if seen = append(seen, e); e.Kind == kind {
				return
			}
		}
		t.Fatalf("no %s came; the events are %+v", kind, seen)
	}

	calling := k.turn("t1", openai.Codec{})
	calling.Publish = true
	first := []string{chunk(`{"role":"assistant","content":"I look "}`, "null"), chunk(`{"content":"it up 🔎"}`, "null") +
		chunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"test__echo","arguments":"{}"}}]}`, "null") +
		chunk(`{}`, `"tool_calls"`) + "data: [DONE]\n\n"}
	body, provider := io.Pipe()
	taken := make(chan error, 1)
	go func() {
		reply, err := calling.Take(ctx, k.Client, body)
		if err == nil && len(reply.Messages) != 2 {
			err = fmt.Errorf("the messages are %s", reply.Messages)
		}
		taken <- err
	}()
	send := func(text string) {
		t.Helper()
		if _, err := io.WriteString(provider, text); err != nil {
			t.Fatal(err)
		}
	}
	send(first[0])
	next(toolspec.RunTextDelta) // the response has not ended
	send(first[1])
	if err := provider.Close(); err != nil {
		t.Fatal(err)
	}
	next(toolspec.RunCallResult)
	if err := <-taken; err != nil {
		t.Fatal(err)
	}

	last := k.turn("t2", openai.Codec{})
	last.Publish, last.Streamed = true, false
	answer := `{"id":"r","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"It is \"x\"."}}]}`
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for tu, response := range map[string]string{"t1": strings.Join(first, ""), "t2": answer} {
				again := calling
				if tu == "t2" {
					again = last
				}
				if _, err := again.Take(ctx, k.Client, strings.NewReader(response)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	next(toolspec.RunDone)
	all.Wait()

	var order []string
	var before, after string
	ended := false
	for _, e := range seen {
		ended = ended || e.Kind == toolspec.RunCallResult
		if e.Kind == toolspec.RunTextDelta {
			if ended {
				after += e.Text
			} else {
				before += e.Text
			}
			if e.OwnerID != e2etest.Actor {
				t.Errorf("the owner of a text is %q", e.OwnerID)
			}
			if len(order) > 0 && order[len(order)-1] == string(e.Kind) {
				continue
			}
		}
		order = append(order, string(e.Kind))
	}
	if got, want := strings.Join(order, " "), "text_delta tool_call_start tool_call_result text_delta done"; got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
	if before != "I look it up 🔎" || after != `It is "x".` {
		t.Errorf("the texts are %q and %q", before, after)
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*) FROM run_events`); n != len(seen) {
		t.Errorf("the run has %d events, and %d came before its end", n, len(seen))
	}
}
