package calls

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
)

// TestShowCapacity: what an open call holds and waits for, with its place in the queue.
func TestShowCapacity(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app.App{Streams: app.Streams{Out: &out}}
	if showCapacity(a, reads.Detail{}); out.Len() > 0 {
		t.Errorf("of nothing it says %q", out.String())
	}
	showCapacity(a, reads.Detail{Capacity: []reads.CapacityRecord{
		{Kind: "quota", Key: `["core__*","every 1m0s"]`, State: "waiting", At: time.Now()},
		{Kind: "semaphore", Key: `["a","concurrent","actor","\u202e\x1b[31m"]`, State: "waiting", Ahead: 7},
		{Kind: "semaphore", Key: `["b","concurrent"]`, State: "held"},
	}})
	for _, part := range []string{"\ncapacity\n", "waiting until ", `["core__*","every 1m0s"]`, "waiting behind 7", " held "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in\n%s", part, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("it does more to the terminal than to write: %q", out.String())
	}
}
