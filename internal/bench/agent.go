package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"go.temporal.io/sdk/activity"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/pawlflow"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

const (
	// agentRounds is the number of rounds with a call in each run. The final answer is one more round.
	agentRounds = 10
	// loopType is the type of the workflow by hand, and askName its activity.
	loopType, askName = "BareLoop", "ask"
	// agentName is the agent that is measured.
	agentName = "bench"
)

// AgentReport says what a round of a run of an agent costs.
type AgentReport struct {
	Server string        `json:"server"`
	Rounds int           `json:"rounds"`
	Cases  []AgentFigure `json:"cases"`
}

// AgentFigure has the figures of one way to run the rounds: they are for one round of a run, with its call. Ratio compares
// with the workflow by hand in the same round of the measurement.
type AgentFigure struct {
	Name          string  `json:"name"`
	P50Ms         float64 `json:"p50_ms"`
	P95Ms         float64 `json:"p95_ms"`
	Ratio         float64 `json:"p50_ratio"`
	HistoryEvents float64 `json:"history_events"`
	HistoryBytes  float64 `json:"history_bytes"`
	// SQLStatements counts the statements of the round and of its call.
	SQLStatements float64 `json:"sql_statements"`
}

// Agent measures a round of RunAgent beside a round of a workflow by hand that asks the same model in an activity, and starts
// the same calls as child workflows. The model is a server in this process that answers at once, so that its time does
// not count.
func Agent(ctx context.Context, o Options) (*AgentReport, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	model, err := modelserver.Start("openai", readsUntil(agentRounds))
	if err != nil {
		return nil, err
	}
	defer model.Close()
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.modelURLs = []string{model.URL.String()}
	if err := s.servePawl(ctx); err != nil {
		return nil, err
	}
	if err := s.applyAgent(ctx, model.URL); err != nil {
		return nil, err
	}
	ways := []struct {
		name       string
		workflowID func(id string) string
		run        func(ctx context.Context, id string) error
	}{
		{"by_hand", func(id string) string { return id }, func(ctx context.Context, id string) error { return s.runLoop(ctx, model.URL, id) }},
		{"agent", func(id string) string { return pawlagent.WorkflowID(tenant, id) }, s.runAgent},
	}
	report := &AgentReport{Rounds: o.Rounds}
	figures := map[string]*AgentFigure{}
	p50s, p95s, ratios := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	run := fmt.Sprintf("%08x", rand.Uint32()) //nolint:gosec // the database may know the runs of measurements before
	for round := range o.Rounds {
		var byHand float64
		for _, w := range ways {
			o.Progress(fmt.Sprintf("round %d of %d: %s", round+1, o.Rounds, w.name))
			var took []time.Duration
			trips, last := int64(0), ""
			for i := range warmUp + o.Calls {
				last = fmt.Sprintf("%s-%s-%d-%d", run, w.name, round, i)
				before, began := s.trips.Load(), time.Now()
				if err := w.run(ctx, last); err != nil {
					return nil, fmt.Errorf("%s: %w", w.name, err)
				}
				if i >= warmUp {
					took = append(took, time.Since(began)/agentRounds)
					trips += s.trips.Load() - before
				}
			}
			p50 := ms(quantile(took, 0.5))
			if w.name == "by_hand" {
				byHand = p50
			}
			p50s[w.name], p95s[w.name], ratios[w.name] = append(p50s[w.name], p50), append(p95s[w.name], ms(quantile(took, 0.95))), append(ratios[w.name], p50/byHand)
			d, err := s.temporal.DescribeWorkflowExecution(ctx, w.workflowID(last), "")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			info := d.GetWorkflowExecutionInfo()
			figures[w.name] = &AgentFigure{
				Name: w.name, HistoryEvents: float64(info.GetHistoryLength()) / agentRounds, HistoryBytes: float64(info.GetHistorySizeBytes()) / agentRounds,
				SQLStatements: float64(trips) / float64(o.Calls) / agentRounds,
			}
		}
	}
	for _, w := range ways {
		f := figures[w.name]
		f.P50Ms, f.P95Ms, f.Ratio = median(p50s[w.name]), median(p95s[w.name]), median(ratios[w.name])
		report.Cases = append(report.Cases, *f)
	}
	report.Server, err = serverOf(ctx, s, o)
	return report, err
}

// readsUntil is a model that asks for a read in each round, and then says that it is done.
func readsUntil(rounds int) func(modelserver.Request) modelserver.Reply {
	return func(r modelserver.Request) modelserver.Reply {
		if r.Answers >= rounds {
			return modelserver.Reply{Text: "done"}
		}
		return modelserver.Reply{Calls: []modelserver.Call{{Name: readTool, Args: `{"text":"hello","times":1}`}}}
	}
}

// applyAgent makes the agent the active one of its name.
func (s *stand) applyAgent(ctx context.Context, model *url.URL) error {
	store, err := postgres.Open(ctx, s.stack.DatabaseURL(), postgres.Options{Application: "pawl-bench"})
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.ApplyAgent(ctx, pawlagent.Document{
		Name: agentName, Version: fmt.Sprintf("%08x", rand.Uint32()), Tools: []string{readTool}, //nolint:gosec // a name
		Model:  pawlagent.Model{Format: "openai", Name: "model", URL: model.String(), MaxTokens: pawlagent.DefaultMaxTokens},
		Limits: pawlagent.Limits{Rounds: pawlagent.MaxRounds, Calls: pawlagent.MaxCalls, Seconds: pawlagent.MaxSeconds, ContextBytes: pawlagent.DefaultContextBytes, AtOnce: 1},
	}, "pawl bench")
	return err
}

// runAgent runs the agent.
func (s *stand) runAgent(ctx context.Context, id string) error {
	result, err := s.pawl.RunAgent(ctx, pawlagent.Input{
		Agent: agentName, Context: toolspec.Context{TenantID: tenant, RunID: id, ActorID: actor},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "go"}}}},
	})
	if err == nil && (result.Outcome != pawlagent.Completed || result.Calls != agentRounds) {
		err = fmt.Errorf("%s ended %s after %d calls: %s", id, result.Outcome, result.Calls, result.Reason)
	}
	return err
}

// loopIn is the input of the workflow by hand.
type loopIn struct {
	URL   string `json:"url"`
	RunID string `json:"runId"`
}

// asked is a response of the model.
type asked struct {
	Message json.RawMessage `json:"message"`
	Call    *wire.Call      `json:"call,omitempty"`
}

// runLoop runs the workflow by hand.
func (s *stand) runLoop(ctx context.Context, model *url.URL, id string) error {
	run, err := s.temporal.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{ID: id, TaskQueue: bareQueue}, loopType, loopIn{URL: model.String(), RunID: id})
	if err != nil {
		return err
	}
	var calls int
	if err := run.Get(ctx, &calls); err != nil {
		return err
	}
	if calls != agentRounds {
		return fmt.Errorf("%s made %d calls", id, calls)
	}
	return nil
}

// loop is an agent as a workflow by hand: the conversation goes through the history, and nothing bounds it.
func loop(ctx workflow.Context, in loopIn) (calls int, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	messages := []json.RawMessage{json.RawMessage(`{"role":"user","content":"go"}`)}
	for {
		var response asked
		if err := workflow.ExecuteActivity(ctx, askName, in.URL, messages).Get(ctx, &response); err != nil {
			return calls, err
		}
		if response.Call == nil {
			return calls, nil
		}
		calls++
		result, err := pawlflow.Invoke(ctx, toolspec.Invocation{
			ToolID: response.Call.Name, ToolCallID: fmt.Sprintf("call-%d", calls), Args: response.Call.Args,
			Context: toolspec.Context{TenantID: tenant, RunID: in.RunID, ActorID: actor},
		})
		if err != nil {
			return calls, err
		}
		answers, err := openai.Codec{}.Answers([]wire.Answer{{CallID: response.Call.ID, Name: response.Call.Name, Content: result.Value}})
		if err != nil {
			return calls, err
		}
		messages = append(append(messages, response.Message), answers...)
	}
}

// ask is the activity of the loop.
func ask(ctx context.Context, base string, messages []json.RawMessage) (out asked, err error) {
	u, err := url.Parse(base)
	if err != nil {
		return out, err
	}
	response, err := provider.Ask(ctx, &http.Client{}, u, provider.Request{Codec: openai.Codec{}, Model: "model", Messages: messages, MaxTokens: pawlagent.DefaultMaxTokens}, nil)
	if err != nil {
		return out, err
	}
	out.Message = response.Message
	if len(response.Calls) > 0 {
		out.Call = &response.Calls[0]
	}
	return out, nil
}

// registerLoop registers the workflow by hand.
func registerLoop(r interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, o activity.RegisterOptions)
},
) {
	r.RegisterWorkflowWithOptions(loop, workflow.RegisterOptions{Name: loopType})
	r.RegisterActivityWithOptions(ask, activity.RegisterOptions{Name: askName})
}
