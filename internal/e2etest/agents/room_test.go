package agents

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// TestSlowModelsOfATenant: a tenant with slow models has at most as many requests at the same time as the configuration allows, and a run of another tenant
// does not wait for them. The waiting runs go on when one of these requests ends (case 67).
func TestSlowModelsOfATenant(t *testing.T) {
	t.Parallel()
	thought := make(chan struct{})
	w := newWorldOf(t, "openai", scripts{
		"slow": modelserver.Script(modelserver.Reply{Text: "thought", Delay: thought}), "quick": modelserver.Script(modelserver.Reply{Text: "done"}),
	})
	c := w.Config()
	c.ModelURLs, c.ModelRequests = []string{w.model.URL.String()}, 2
	w.workWith(c)
	w.apply(w.document("openai"))
	var slow []*client.AgentRun
	for i := range 8 {
		slow = append(slow, w.start(input(fmt.Sprint("slow", i), "slow")))
	}
	w.Until(func() bool { return len(w.asks("slow")) == 2 }, "two requests are sent")
	waits := func(r *client.AgentRun) bool {
		pending := w.Describe(r.WorkflowID()).GetPendingActivities()
		return len(pending) == 1 && pending[0].GetLastFailure() != nil
	}
	w.Until(func() bool {
		n := 0
		for _, r := range slow {
			if waits(r) {
				n++
			}
		}
		return n == len(slow)-2
	}, "the others wait")
	other := input("quick", "quick")
	other.Context.TenantID = "globex"
	want(t, w.run(other), agent.Completed, "done")
	if n := len(w.asks("slow")); n != 2 {
		t.Errorf("%d slow requests are sent, want 2", n)
	}
	close(thought)
	for _, r := range slow {
		want(t, w.result(r), agent.Completed, "thought")
	}
	if n := len(w.asks("slow")); n != len(slow) {
		t.Errorf("the slow models were asked %d times", n)
	}
}
