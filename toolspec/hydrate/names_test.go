package hydrate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// TestManySecretNames checks that the names of arguments cost no more than their number, although each looks like a credential's.
func TestManySecretNames(t *testing.T) {
	decode := func(names int) time.Duration {
		raw := `{"toolId":"core__ls","toolCallId":"c","context":{"tenantId":"t","runId":"r","actorId":"user:a"},"args":{"a":[` +
			strings.TrimSuffix(strings.Repeat(`{"token":0},`, names), ",") + `]}}`
		if len(raw) > toolspec.MaxInvocation {
			t.Fatal(len(raw))
		}
		best := time.Hour
		for range 5 {
			began := time.Now()
			_, _ = hydrate.Decode([]byte(raw)) // it may be too large for arguments
			best = min(best, time.Since(began))
		}
		return best
	}
	if few, many := decode(1_000), decode(20_000); many > 100*few {
		t.Errorf("20 000 names took %s, and 1 000 took %s", many, few)
	}
}
