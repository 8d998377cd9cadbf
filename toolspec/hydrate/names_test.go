package hydrate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// TestManySecretNames checks that names of arguments that look like a credential's cost about as much
// as other names.
func TestManySecretNames(t *testing.T) {
	decode := func(name string) func() time.Duration {
		raw := `{"toolId":"core__ls","toolCallId":"c","context":{"tenantId":"t","runId":"r","actorId":"user:a"},"args":{"a":[` +
			strings.TrimSuffix(strings.Repeat(`{"`+name+`":0},`, 20_000), ",") + `]}}`
		if len(raw) > toolspec.MaxInvocation {
			t.Fatal(len(raw))
		}
		return func() time.Duration {
			began := time.Now()
			_, _ = hydrate.Decode([]byte(raw)) // it may be too large for arguments
			return time.Since(began)
		}
	}
	secret, plain := decode("token"), decode("other")
	least, leastPlain := time.Hour, time.Hour
	for range 5 { // alternately, so that both have the same load
		least, leastPlain = min(least, secret()), min(leastPlain, plain())
	}
	if least > 10*leastPlain {
		t.Errorf("20 000 secret-shaped names took %s, as many other names %s", least, leastPlain)
	}
}
