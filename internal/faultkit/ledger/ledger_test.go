package ledger_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/toolspec"
)

// TestLedger: the ledger records every effect, also with a repeated key, and refuses a body without
// a key.
func TestLedger(t *testing.T) {
	l, err := ledger.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := ledger.Writer{URL: l.URL()}
	var writing sync.WaitGroup
	for range 20 {
		writing.Go(func() {
			if err := w.Write(t.Context(), ledger.Effect{Key: "k", InvocationID: "a", Attempt: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	if err := w.Write(t.Context(), ledger.Effect{InvocationID: "a"}); err == nil {
		t.Error("an effect without a key was taken")
	}
	if err := w.Write(t.Context(), ledger.Effect{Key: "k2", InvocationID: "b"}); err != nil {
		t.Error(err)
	}
	if a, b := len(l.Of("a")), len(l.Of("b")); a != 20 || b != 1 || len(l.Effects()) != 21 {
		t.Errorf("%d and %d effects, want 20 and 1", a, b)
	}
}

// TestTools: every tool has its effect once, with the ids of its call. Equal arguments have equal
// digests.
func TestTools(t *testing.T) {
	l, err := ledger.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refused := errors.New("refused")
	stopped := ""
	tools := ledger.Tools(ledger.Writer{URL: l.URL()}, func(e ledger.Effect, effect func() error) error {
		if e.ToolID == stopped {
			return refused
		}
		return effect()
	})
	for _, tool := range tools {
		id := tool.Definition().ID
		call := toolspec.Call{ToolID: id, InvocationID: id, IdempotencyKey: id, Attempt: 1}
		if _, err := tool.Run(t.Context(), []byte(`{"text":"hello"}`), call); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		stopped = id
		if _, err := tool.Run(t.Context(), []byte(`{"text":"hello"}`), call); !errors.Is(err, refused) {
			t.Errorf("%s: %v, want the error of Around", id, err)
		}
		stopped = ""
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := tool.Run(ctx, []byte(`{"text":"hello","beforeMs":60000}`), call); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the error of its context", id, err)
		}
		if got := l.Of(id); len(got) != 1 || got[0].Key != id || got[0].Digest != l.Effects()[0].Digest || got[0].PID == 0 {
			t.Errorf("%s: %+v", id, got)
		}
	}
}
