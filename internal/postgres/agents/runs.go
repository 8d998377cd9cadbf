package agents

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	pawlagent "github.com/pawl-run/pawl/agent"

	activity "github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

type runRow struct {
	Namespace, InputDigest     string
	Document, Input, Result    json.RawMessage
	TrimmedTo, ContextFrom     int
	OpenedAt                   time.Time
	Rounds, Calls, Unpriced    int
	InputTokens, OutputTokens  int64
	CacheReadTokens            int64
	CacheWriteTokens, MicroUsd int64
	Said, Taken                int64
	ParentRunID, ParentCallID  string
	TokenLimit, MicroUsdLimit  int64
	SummaryBefore              int
	Summary                    string
}

type saidToRow struct {
	Seq  int64
	Open bool
}

type roundRow struct {
	Round                     int
	Format, Model             string
	Plan, Answers             json.RawMessage
	InputTokens, OutputTokens int64
	CacheReadTokens           int64
	CacheWriteTokens          int64
	MicroUsd                  *int64
}

type saidRow struct {
	Seq   int64
	Round int
	Text  string
}

func runKey(of contract.AgentRun) db.Values {
	return db.Values{"tenant_id": db.Text(of.TenantID), "run_id": db.Text(of.RunID)}
}

// OpenAgentRun writes a run, if there is none with its ids, and returns the run with these ids.
func (s *Store) OpenAgentRun(ctx context.Context, r activity.NewRun) (activity.Run, error) {
	const op = "open agent run"
	values, err := newRunValues(op, r)
	if err != nil {
		return activity.Run{}, err
	}
	if _, err := s.db.Exec(ctx, op, db.Query("OpenAgentRun", values)); err != nil {
		return activity.Run{}, err
	}
	return s.AgentRun(ctx, r.Run)
}

// newRunValues returns the values of the row of a new run.
func newRunValues(op string, r activity.NewRun) (db.Values, error) {
	document, err := encodeReadable(r.Document)
	if err != nil {
		return nil, db.Failure(op, err)
	}
	input, err := encodeReadable(r.Input)
	if err != nil {
		return nil, db.Failure(op, err)
	}
	return runKey(r.Run).With(db.Values{
		"namespace": db.Text(r.Namespace), "input_digest": r.InputDigest, "agent": db.Text(r.Document.Name), "version": db.Text(r.Document.Version), "document": document, "input": input,
		"token_limit": r.Document.Limits.Tokens, "micro_usd_limit": r.Document.Limits.MicroUSD,
	}), nil
}

// AgentRun returns a run, and ErrNotFound of activities/agent if there is none.
func (s *Store) AgentRun(ctx context.Context, of contract.AgentRun) (r activity.Run, err error) {
	const op = "agent run"
	row, found, err := db.First[runRow](ctx, s.db, op, db.Query("AgentRun", runKey(of)))
	switch {
	case err != nil:
		return r, err
	case !found:
		return r, activity.ErrNotFound
	}
	r, err = row.run(op)
	return r, db.Failure(op, err)
}

// AgentRunAt returns a run as AgentRun does, and one round of it as AgentRound does, usually in one round trip.
func (s *Store) AgentRunAt(ctx context.Context, of contract.AgentRun, round int) (run activity.Run, r activity.Round, found bool, err error) {
	const op = "agent run at"
	var runs []runRow
	var rounds []roundRow
	// The round is read first. So the run, which is read later, has at least the messages that belong to
	// the round.
	err = s.db.Read(ctx, op, db.Into(&rounds, db.Query("AgentRound", runKey(of).With(db.Values{"round": round}))), db.Into(&runs, db.Query("AgentRun", runKey(of))))
	switch {
	case err != nil:
		return run, r, false, err
	case len(runs) == 0:
		return run, r, false, activity.ErrNotFound
	}
	run, err = runs[0].run(op)
	switch {
	case err != nil:
		return run, r, false, db.Failure(op, err)
	case len(rounds) == 0 && run.Round >= round: // the round was recorded between the two statements
		r, found, err = s.AgentRound(ctx, of, round)
		return run, r, found, err
	case len(rounds) == 0:
		return run, r, false, nil
	}
	r, err = rounds[0].round()
	return run, r, err == nil, db.Failure(op, err)
}

// run returns the run of a row.
func (row runRow) run(op string) (r activity.Run, err error) {
	r = activity.Run{
		Namespace: row.Namespace, InputDigest: row.InputDigest, Context: activity.Context{TrimmedTo: row.TrimmedTo, From: row.ContextFrom}, OpenedAt: row.OpenedAt,
		Summary: activity.Summary{Before: row.SummaryBefore, Text: row.Summary},
		Round:   row.Rounds, Said: row.Said, Taken: row.Taken, Totals: pawlagent.Totals{
			Rounds: row.Rounds, Calls: row.Calls, InputTokens: row.InputTokens, CacheReadTokens: row.CacheReadTokens, CacheWriteTokens: row.CacheWriteTokens,
			OutputTokens: row.OutputTokens, MicroUSD: row.MicroUsd, Unpriced: row.Unpriced,
		},
	}
	if r.Document, err = db.DecodedStrict[pawlagent.Document](op, row.Document); err != nil {
		return r, err
	}
	// The limits of a run with a parent are the tokens and the cost that its parent has reserved for it.
	r.Document.Limits.Tokens, r.Document.Limits.MicroUSD = int(row.TokenLimit), row.MicroUsdLimit
	if row.ParentRunID != "" {
		r.Parent = &pawlagent.Parent{RunID: row.ParentRunID, ToolCallID: row.ParentCallID}
	}
	if r.Input, err = db.DecodedStrict[pawlagent.Input](op, row.Input); err != nil {
		return r, err
	}
	r.Result, err = db.Optional[pawlagent.Result](row.Result)
	return r, err
}

// SayToAgent implements activity.Store.
func (s *Store) SayToAgent(ctx context.Context, of contract.AgentRun, m pawlagent.Message) (int64, error) {
	row, _, err := db.First[saidToRow](ctx, s.db, "say to agent", db.Query("SayToAgent", runKey(of).With(db.Values{
		"message_id": db.Text(m.ID), "said_by": db.Text(m.By), "text": db.Text(m.Text), "most": activity.MaxUnread,
	})))
	if err == nil && row.Seq == 0 && !row.Open {
		err = activity.ErrNotFound
	}
	return row.Seq, err
}

// AgentRound returns a recorded round.
func (s *Store) AgentRound(ctx context.Context, of contract.AgentRun, round int) (activity.Round, bool, error) {
	const op = "agent round"
	row, found, err := db.First[roundRow](ctx, s.db, op, db.Query("AgentRound", runKey(of).With(db.Values{"round": round})))
	if err != nil || !found {
		return activity.Round{}, false, err
	}
	r, err := row.round()
	return r, err == nil, db.Failure(op, err)
}

// AgentConversation returns the rounds from c.From on whose calls are all answered, and the messages of people that belong to these rounds
// or that no round has read yet. Rounds before c.TrimmedTo have their trimmed answers.
func (s *Store) AgentConversation(ctx context.Context, of contract.AgentRun, c activity.Context) (all activity.Conversation, err error) {
	const op = "agent conversation"
	var rounds []roundRow
	var said []saidRow
	from := runKey(of).With(db.Values{"from": c.From})
	if err := s.db.Read(ctx, op,
		db.Into(&rounds, db.Query("AgentRounds", from.With(db.Values{"trimmed_to": c.TrimmedTo}))), db.Into(&said, db.Query("SaidToAgent", from)),
	); err != nil {
		return all, err
	}
	for _, row := range rounds {
		r, err := row.round()
		if err != nil {
			return activity.Conversation{}, db.Failure(op, err)
		}
		all.Rounds = append(all.Rounds, r)
	}
	for _, row := range said {
		all.Said = append(all.Said, activity.Said(row))
	}
	return all, nil
}

func (row roundRow) round() (r activity.Round, err error) {
	r = activity.Round{Round: row.Round, Format: row.Format, Model: row.Model, MicroUSD: row.MicroUsd, Usage: wire.Usage{
		Reported: true, Input: row.InputTokens, CacheRead: row.CacheReadTokens, CacheWrite: row.CacheWriteTokens, Output: row.OutputTokens,
	}}
	if r.Plan, err = db.Decoded[activity.Plan](row.Plan); err != nil || row.Answers == nil {
		return r, err
	}
	r.Answers, err = db.Decoded[[]wire.Answer](row.Answers)
	return r, err
}

// MoveContext stores which rounds the requests to the model leave out (the rounds before c.From), and which of the other rounds have trimmed
// answers (those before c.TrimmedTo). The stored numbers only grow: if a number of c is smaller than the stored number, the stored number stays.
func (s *Store) MoveContext(ctx context.Context, of contract.AgentRun, c activity.Context) error {
	_, err := s.db.Exec(ctx, "move context", db.Query("MoveContext", runKey(of).With(db.Values{"trimmed_to": c.TrimmedTo, "from": c.From})))
	return err
}

// RecordSummary writes a summary of the rounds before c.From, and stores c as MoveContext does, so that requests to the model leave out
// these rounds. It does nothing if requests leave them out already. ErrNotFound of activities/agent means that the run has ended.
func (s *Store) RecordSummary(ctx context.Context, of contract.AgentRun, c activity.Context, n activity.NewSummary) error {
	written, err := s.db.Exec(ctx, "record summary", db.Query("RecordSummary", runKey(of).With(db.Values{
		"before": c.From, "trimmed_to": c.TrimmedTo, "format": db.Text(n.Format), "model": db.Text(n.Model), "summary": db.Text(n.Text),
		"input_tokens": n.Usage.Input, "cache_read_tokens": n.Usage.CacheRead, "cache_write_tokens": n.Usage.CacheWrite, "output_tokens": n.Usage.Output,
		"micro_usd": n.MicroUSD,
	})))
	if err != nil || written > 0 {
		return err
	}
	if run, err := s.AgentRun(ctx, of); err != nil || run.Context.From >= c.From {
		return err
	}
	return activity.ErrNotFound
}

// RecordRound writes a round, if it is not recorded yet. taken is the number of the last message of people that the model has read in this
// round. ErrNotFound of activities/agent means that the round could not be recorded, because the run has ended.
func (s *Store) RecordRound(ctx context.Context, of contract.AgentRun, r activity.Round, promptHash string, taken int64) error {
	const op = "record round"
	plan, err := encodeReadable(r.Plan)
	if err != nil {
		return db.Failure(op, err)
	}
	written, err := s.db.Exec(ctx, op, db.Query("RecordRound", runKey(of).With(db.Values{
		"round": r.Round, "format": db.Text(r.Format), "model": db.Text(r.Model), "plan": plan, "calls_planned": len(r.Plan.Calls), "calls": r.Started(),
		"input_tokens": r.Usage.Input, "cache_read_tokens": r.Usage.CacheRead, "cache_write_tokens": r.Usage.CacheWrite, "output_tokens": r.Usage.Output,
		"micro_usd": r.MicroUSD, "prompt_hash": promptHash, "taken": taken,
	})))
	if err != nil || written > 0 {
		return err
	}
	if _, found, err := s.AgentRound(ctx, of, r.Round); err != nil || found {
		return err
	}
	return activity.ErrNotFound
}

// AddUsage adds the usage of a response that was not recorded as a round.
func (s *Store) AddUsage(ctx context.Context, of contract.AgentRun, u wire.Usage, microUSD *int64) error {
	_, err := s.db.Exec(ctx, "add usage", db.Query("AddUsage", runKey(of).With(db.Values{
		"input_tokens": u.Input, "cache_read_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite, "output_tokens": u.Output, "micro_usd": microUSD,
	})))
	return err
}

// RecordAnswers writes the answers of a round, if it has none. trimmed are the same answers with references in place of their outputs.
func (s *Store) RecordAnswers(ctx context.Context, of contract.AgentRun, round int, answers, trimmed []wire.Answer) error {
	const op = "record answers"
	text, err := encodeReadable(answers)
	if err != nil {
		return db.Failure(op, err)
	}
	short, err := encodeReadable(trimmed)
	if err != nil {
		return db.Failure(op, err)
	}
	if len(*short) >= len(*text) {
		short = nil
	}
	_, err = s.db.Exec(ctx, op, db.Query("RecordAnswers", runKey(of).With(db.Values{"round": round, "answers": text, "trimmed": short})))
	return err
}

// DeleteExpiredAgentRuns deletes up to limit runs that ended more than the given number of days ago, with their rounds and
// messages. A run without a recorded end counts as ended at the end of its time limit.
func (s *Store) DeleteExpiredAgentRuns(ctx context.Context, days, limit int) (int, error) {
	n, err := s.db.Exec(ctx, "delete expired agent runs", db.Query("DeleteExpiredAgentRuns", db.Values{"days": days, "batch": limit}))
	return int(n), err
}

// CloseAgentRun ends a run, if it has not ended, and returns its recorded result. If this release cannot decode the row of the run, it
// returns the given result and no error.
func (s *Store) CloseAgentRun(ctx context.Context, of contract.AgentRun, result pawlagent.Result, answer string) (pawlagent.Result, error) {
	const op = "close agent run"
	text, err := encodeReadable(result)
	if err != nil {
		return result, db.Failure(op, err)
	}
	if _, err := s.db.Exec(ctx, op, db.Query("CloseAgentRun", runKey(of).With(db.Values{"result": text, "answer": db.Text(answer)}))); err != nil {
		return result, err
	}
	run, err := s.AgentRun(ctx, of)
	if errs.IsTransient(err) || ctx.Err() != nil || errors.Is(err, activity.ErrNotFound) {
		return result, err
	}
	if err == nil && run.Result != nil {
		result = *run.Result
	}
	return result, nil // the run has ended, also if its row cannot be read
}

// encodeReadable returns v as JSON without the character NUL, and with U+FFFD for each half of a surrogate pair that stands alone. Messages of people
// and of models may contain them, but a text of Postgres cannot: a statement that reads any text out of the JSON would fail.
func encodeReadable(v any) (*string, error) {
	text, err := db.Encoded(v)
	if err != nil || !strings.Contains(*text, `\u`) {
		return text, err
	}
	var out strings.Builder
	rest := *text
	for {
		n := strings.IndexByte(rest, '\\')
		if n < 0 {
			break
		}
		out.WriteString(rest[:n])
		rest = rest[n:]
		switch first, second := escapedUnit(rest), escapedUnit(rest[min(6, len(rest)):]); {
		case first == 0: // NUL is left out
			rest = rest[6:]
		case utf16.IsSurrogate(first) && utf16.DecodeRune(first, second) != unicode.ReplacementChar:
			out.WriteString(rest[:12])
			rest = rest[12:]
		case utf16.IsSurrogate(first):
			out.WriteString(`\ufffd`)
			rest = rest[6:]
		default: // another escape; copied whole, because an escaped backslash may stand before the text u0000
			out.WriteString(rest[:2])
			rest = rest[2:]
		}
	}
	clean := out.String() + rest
	return &clean, nil
}

// escapedUnit returns the UTF-16 code unit of the escape with which a JSON text begins, such as \u00e9. It returns -1 if the text begins
// with something else.
func escapedUnit(text string) rune {
	if len(text) < 6 || text[:2] != `\u` {
		return -1
	}
	unit, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
