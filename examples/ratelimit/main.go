// Command ratelimit is a worker that lets every actor have three calls at a time
// and tells it to come back in a second with the next one. The limit is one hook
// on two stages, with what it counts by handed in.
//
//	pawl dev --policy examples/policy.yaml -- go run ./examples/ratelimit
//
// and, in another terminal, in the same directory, four times:
//
//	pawl invoke report__build --args '{"milliseconds":20000}' --detach
package main

import (
	"context"
	"os"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

func main() {
	os.Exit(worker.Main(
		worker.Tools(buildReport()),
		worker.Hooks(rateLimit(newSlots(3, time.Minute))),
	))
}

// limiter lets an actor have some calls at a time. A hook runs at least once, so
// both take the call's id: the same call again takes no second slot and gives
// back no slot of another call.
type limiter interface {
	tryAcquire(actor, call string) bool
	release(actor, call string)
}

// rateLimit stands before every tool. The call that finds no slot ends with
// `rate_limited` and says when to come back; didReleaseQuota comes at the end of
// every call, whatever became of it.
func rateLimit(l limiter) hook.Hook {
	return hook.New("rate-limit", hook.Priority(100),
		hook.WillAcquireQuota.Do(func(_ context.Context, v *hook.Check) error {
			if !l.tryAcquire(v.Context().ActorID, v.InvocationID()) {
				return v.RetryAfter(time.Second, "Rate limit")
			}
			return nil
		}),
		hook.DidReleaseQuota.Do(func(_ context.Context, v *hook.Report) error {
			l.release(v.Context().ActorID, v.InvocationID())
			return nil
		}))
}

type reportIn struct {
	Milliseconds int `json:"milliseconds" jsonschema:"minimum=0,maximum=20000" jsonschema_description:"How long the report takes."`
}

type reportOut struct {
	Pages int `json:"pages"`
}

// buildReport is a tool that takes a while, so that calls meet.
func buildReport() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "report__build", Description: "Builds a report of so many milliseconds.", Version: "1",
		Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/pages"}},
	}, func(ctx context.Context, in reportIn, _ toolspec.Call) (reportOut, error) {
		select {
		case <-ctx.Done(): // a cancelled call ends its tool too
			return reportOut{}, ctx.Err()
		case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
			return reportOut{Pages: 1}, nil
		}
	})
}
