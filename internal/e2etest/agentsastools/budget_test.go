package agentsastools

import (
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// pricesFile has a price of a dollar for a million tokens, so a response of these tests costs 1500 millionths of a dollar.
const pricesFile = `date: 2026-01-01
prices:
  - {format: openai, model: "*", input: 1, cached: 1, cacheWrite: 1, output: 1}
`

// endless is the script of a model that calls a tool in each round.
func endless(modelserver.Request) modelserver.Reply { return costs(calls(echo("test__echo", "again"))) }

// costs returns the reply with a usage of 1500 tokens. The estimated input of a request of these tests is much smaller.
func costs(r modelserver.Reply) modelserver.Reply {
	r.Usage = wire.Usage{Input: 1000, Output: 500}
	return r
}

// TestBudgets: an agent that a call runs stops at its own limits of time, tokens and money, and at the rest that the calling run has left of each. The calling
// model gets an answer that says so, and goes on if its run has something left (BU-06). A response costs 1500 tokens and 1500 millionths of a dollar.
func TestBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		lead, research agent.Limits
		reason         string
		rounds         int
		goesOn         bool
	}{
		"own tokens":      {agent.Limits{}, agent.Limits{Tokens: 3000}, "tokens", 2, true},
		"own money":       {agent.Limits{}, agent.Limits{MicroUSD: 3000}, "cost", 2, true},
		"own time":        {agent.Limits{}, agent.Limits{Seconds: 3}, "time", 0, true},
		"tokens of lead":  {agent.Limits{Tokens: 4500}, agent.Limits{}, "tokens", 2, false},
		"money of lead":   {agent.Limits{MicroUSD: 4500}, agent.Limits{}, "cost", 2, false},
		"less than lead":  {agent.Limits{Tokens: 100000}, agent.Limits{Tokens: 2500}, "tokens", 2, true},
		"smaller of lead": {agent.Limits{Tokens: 4500}, agent.Limits{Tokens: 100000}, "tokens", 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, e2etest.PlainPolicy, scripts{lead: modelserver.Script(costs(calls(delegate(research, "x"))), costs(say("done"))), research: endless})
			w.workPriced(e2etest.Tool("test__echo", e2etest.Echo))
			limit := func(l agent.Limits) func(*agent.Document) {
				return func(d *agent.Document) {
					d.Limits.Rounds, d.Limits.Calls = 1000, 1000
					d.Limits.Tokens, d.Limits.MicroUSD = l.Tokens, l.MicroUSD
					if l.Seconds > 0 {
						d.Limits.Seconds = l.Seconds
					}
				}
			}
			w.apply(lead, limit(c.lead), "test__echo")
			w.apply(research, limit(c.research), "test__echo")
			result := w.run("run")
			want := agent.Completed
			if !c.goesOn {
				want = agent.OverBudget
			}
			if result.Outcome != want {
				t.Errorf("the run ended %+v", result)
			}
			if c.goesOn {
				wantHas(t, w.answers(lead)[0], `"outcome":"over_budget"`, c.reason)
			}
			if asked := w.asked(research); c.rounds > 0 && asked != c.rounds {
				t.Errorf("research was asked %d times, want %d", asked, c.rounds)
			}
			all := int64(1500 * (w.asked(lead) + w.asked(research)))
			if result.Tokens() != all || result.MicroUSD != all {
				t.Errorf("the totals are %+v, want %d tokens and as many millionths of a dollar", result.Totals, all)
			}
		})
	}
}

// TestBudgetsSideBySide: two agents that run at the same time get together at most the budget that the calling run has left, and a third agent gets none
// (BU-06).
func TestBudgetsSideBySide(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}, 3), make(chan struct{})
	w := newWorld(t, e2etest.PlainPolicy, scripts{
		lead: modelserver.Script(costs(calls(delegate(research, "x"), delegate(research, "y"), delegate(research, "z"))), costs(say("done"))),
		research: func(r modelserver.Request) modelserver.Reply {
			if r.Answers == 0 {
				entered <- struct{}{}
				return costs(modelserver.Reply{Delay: leave, Calls: []modelserver.Call{echo("test__echo", "again")}})
			}
			return endless(r)
		},
	})
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	w.apply(lead, func(d *agent.Document) { d.Limits.AtOnce, d.Limits.Tokens = 3, 6150 }, "test__echo")
	w.apply(research, func(d *agent.Document) { d.Limits.Tokens = 3100 }, "test__echo")
	run := w.start(input("run"))
	e2etest.Receive(t, entered)
	e2etest.Receive(t, entered)
	w.Until(func() bool {
		return e2etest.Scalar[int](w.World, "SELECT count(*)::integer FROM invocations WHERE tool_id = $1 AND state = 'settled'", agent.RunTool) == 3
	}, "all calls are permitted or refused")
	limits := e2etest.Query[int64](w.World, "SELECT token_limit FROM agent_runs WHERE parent_run_id IS NOT NULL ORDER BY 1 DESC")
	if len(limits) != 2 || limits[0] != 3100 || limits[1] != 1550 {
		t.Errorf("the agents may use %v tokens, want 3100 and the 1550 that are left", limits)
	}
	close(leave)
	if result := w.result(run); result.Tokens() != int64(1500*(w.asked(lead)+w.asked(research))) {
		t.Errorf("the totals are %+v", result.Totals)
	}
	if w.asked(research) != 2+1 {
		t.Errorf("research was asked %d times", w.asked(research))
	}
}
