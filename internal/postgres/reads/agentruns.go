package reads

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
)

type agentRunRow struct {
	client.AgentRunSummary

	Began, Result json.RawMessage
}

type agentRoundRow struct {
	Round                             int
	Format, Model, Text               string
	Finish                            wire.Finish
	InputTokens, OutputTokens         int64
	CacheReadTokens, CacheWriteTokens int64
	MicroUSD                          *int64
	AskedAt                           time.Time
	AnsweredAt                        *time.Time
}

type agentCallRow struct {
	Round                             int
	Name, ToolID, ToolCallID, Refused string
	Same                              int
}

type agentOutcomeRow struct {
	InvocationID, Outcome string
	SafeArgs              json.RawMessage
}

type agentMessageRow struct {
	Round        int
	SaidBy, Text string
	SaidAt       time.Time
}

// AgentRuns returns the tenant's runs of agents, newest first.
func (s *Store) AgentRuns(ctx context.Context, f client.AgentRunFilter) ([]client.AgentRunSummary, error) {
	var before *time.Time
	beforeID := ""
	if f.After != nil {
		before, beforeID = &f.After.OpenedAt, f.After.RunID
	}
	return db.All[client.AgentRunSummary](ctx, s.db, "agent runs", db.Query("ListAgentRuns", db.Values{
		"tenant_id": db.Text(f.TenantID), "agent": db.Text(f.Agent), "open": f.Open, "before": before, "before_id": db.Text(beforeID), "max": db.Limit(f.Limit),
	}))
}

// ShowAgentRun returns a run of an agent with its last rounds. It returns db.ErrNotFound if the tenant has no such run.
func (s *Store) ShowAgentRun(ctx context.Context, f client.RoundFilter) (r client.AgentRunRecord, err error) {
	const op = "agent run"
	of := db.Values{"tenant_id": db.Text(f.TenantID), "run_id": db.Text(f.RunID)}
	row, found, err := db.First[agentRunRow](ctx, s.db, op, db.Query("ShowAgentRun", of))
	switch {
	case err != nil:
		return r, err
	case !found:
		return r, db.ErrNotFound
	}
	r = client.AgentRunRecord{AgentRunSummary: row.AgentRunSummary, TenantID: f.TenantID}
	if r.Result, err = db.Optional[agent.Result](row.Result); err != nil {
		return r, db.Failure(op, err)
	}
	if len(row.Began) > 0 {
		if r.Began, err = db.Decoded[[]client.BeganMessage](row.Began); err != nil {
			return r, db.Failure(op, err)
		}
	}
	rounds, err := db.All[agentRoundRow](ctx, s.db, op, db.Query("ShowAgentRounds", of.With(db.Values{"before": f.Before, "max": db.Limit(f.Limit)})))
	if err != nil {
		return r, err
	}
	from, to := 0, math.MaxInt32 // the first and the last round of the page
	if f.Before > 0 {
		to = f.Before - 1
	}
	if len(rounds) > 0 {
		from = rounds[len(rounds)-1].Round
	}
	of = of.With(db.Values{"from": from, "to": to})
	for _, row := range slices.Backward(rounds) {
		r.Rounds = append(r.Rounds, client.AgentRound{
			Round: row.Round, Format: row.Format, Model: row.Model, Finish: row.Finish, Text: row.Text, InputTokens: row.InputTokens, CacheReadTokens: row.CacheReadTokens,
			CacheWriteTokens: row.CacheWriteTokens, OutputTokens: row.OutputTokens, MicroUSD: row.MicroUSD, AskedAt: row.AskedAt, AnsweredAt: row.AnsweredAt,
		})
	}
	if err := s.agentCalls(ctx, &r, of); err != nil {
		return r, err
	}
	if r.Summaries, err = db.All[client.AgentSummary](ctx, s.db, op, db.Query("ShowAgentSummaries", of)); err != nil {
		return r, err
	}
	said, err := db.All[agentMessageRow](ctx, s.db, op, db.Query("ShowAgentMessages", of.With(db.Values{"before": f.Before, "max": db.MaxList})))
	for _, m := range slices.Backward(said) {
		r.Said = append(r.Said, client.AgentMessage{Round: m.Round, By: m.SaidBy, Text: m.Text, At: m.SaidAt})
	}
	return r, err
}

// agentCalls adds the calls to the rounds of a run.
func (s *Store) agentCalls(ctx context.Context, r *client.AgentRunRecord, of db.Values) error {
	const op = "calls of an agent run"
	calls, err := db.All[agentCallRow](ctx, s.db, op, db.Query("ShowAgentCalls", of))
	if err != nil || len(calls) == 0 {
		return err
	}
	ids, started := make([]string, len(calls)), []string{}
	for i, c := range calls {
		// The calls of the rounds that a fork has kept belong to the other run.
		if c.ToolCallID != "" && c.Round > r.ForkRounds {
			ids[i] = toolspec.Identity{TenantID: r.TenantID, RunID: r.RunID, ToolCallID: c.ToolCallID}.InvocationID()
			started = append(started, ids[i])
		}
	}
	rows, err := db.All[agentOutcomeRow](ctx, s.db, op, db.Query("ShowAgentOutcomes", db.Values{"tenant_id": db.Text(r.TenantID), "ids": started}))
	if err != nil {
		return err
	}
	outcomes := map[string]agentOutcomeRow{}
	for _, row := range rows {
		outcomes[row.InvocationID] = row
	}
	for i, c := range calls {
		at := slices.IndexFunc(r.Rounds, func(round client.AgentRound) bool { return round.Round == c.Round })
		if at < 0 {
			continue // the round was recorded after the rounds were read
		}
		view := client.AgentCallView{Name: c.Name, ToolID: c.ToolID, ToolCallID: c.ToolCallID, InvocationID: ids[i], Outcome: c.Refused}
		if c.Same >= 0 {
			view.SameAs = &c.Same
		}
		if row, ok := outcomes[ids[i]]; ok {
			view.Outcome, view.SafeArgs = row.Outcome, row.SafeArgs
		}
		r.Rounds[at].Calls = append(r.Rounds[at].Calls, view)
	}
	return nil
}
