package agent

import (
	"context"
	"errors"
	"fmt"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Errors of Store.ForkAgentRun.
var (
	// ErrNoRound means that the source lacks a round that the fork keeps, or an answer to a call of such a round.
	ErrNoRound = errors.New("the source has no such round with answers")
	// ErrForkTooLarge means that the rounds to keep have more than MaxForkBytes of package agent.
	ErrForkTooLarge = errors.New("the rounds to keep are too large")
)

// noSource is the reason if the source does not exist, and also if the fork may not read the source. Both cases have the same text, so
// that nobody learns from it which runs exist.
const noSource = "the run cannot start: there is no such run of this actor to fork, or another agent has started it, or submitterProof does not vouch for its subject"

// begin writes a run, if there is none with its ids, and returns the run with these ids. If the run cannot start, reason says why.
func (a *Agents) begin(ctx context.Context, r NewRun) (run Run, reason string, err error) {
	if r.Input.GraphRunID != "" && r.Document.Graph == nil {
		return run, "the run cannot start: graphRunId needs an agent with the name and the version of a graph", nil
	}
	if r.Input.Fork != nil {
		return a.openFork(ctx, r)
	}
	run, err = a.Store.OpenAgentRun(ctx, r)
	return run, "", err
}

// openFork does the work of begin for a run that continues the conversation of another run, its source.
func (a *Agents) openFork(ctx context.Context, r NewRun) (run Run, reason string, err error) {
	source, err := a.Store.AgentRun(ctx, contract.AgentRun{TenantID: r.Run.TenantID, RunID: r.Input.Fork.RunID})
	if errors.Is(err, ErrNotFound) {
		return run, noSource, nil
	}
	if err != nil {
		return run, "", err
	}
	if may, err := a.mayFork(ctx, source, r.Input); err != nil || !may {
		return run, noSource, err
	}
	if source.Document.Name != r.Document.Name {
		return run, "the run cannot start: the run to fork is of another agent", nil
	}
	// Ask checks the kill switch only before a request to a model. A fork copies much before that, and may end without a request.
	if reason, err := a.Killed(ctx, r.Run.TenantID, r.Document.Name); err != nil || reason != "" {
		return run, reason, err
	}
	said := r.Input.Said()
	r.Input.Messages = source.Input.Messages
	run, err = a.Store.ForkAgentRun(ctx, r, said)
	switch {
	case errors.Is(err, ErrNotFound):
		return run, noSource, nil
	case errors.Is(err, ErrNoRound):
		return run, fmt.Sprintf("the run cannot start: the run to fork has no %d rounds whose calls have answers", r.Input.Fork.Rounds), nil
	case errors.Is(err, ErrForkTooLarge):
		return run, fmt.Sprintf("the run cannot start: the rounds to keep have more than %d MiB; keep fewer rounds", pawlagent.MaxForkBytes>>20), nil
	}
	return run, "", err
}

// mayFork reports whether a new run may read the conversation of a source. Both must have the same actor,
// subject and VirtualKeyID. Anybody who can start a run can name a subject, so a submitter must vouch for the
// subject. A run that a call of another run has started cannot be forked.
func (a *Agents) mayFork(ctx context.Context, source Run, in pawlagent.Input) (bool, error) {
	was, is := source.Input.Context, in.Context
	isSameCaller := was.ActorID == is.ActorID && was.SubjectID == is.SubjectID && was.VirtualKeyID == is.VirtualKeyID
	switch {
	case source.Parent != nil || !isSameCaller:
		return false, nil
	case was.SubjectID == "" && source.Input.SubmitterProof == "":
		return true, nil
	case in.SubmitterProof == "" || a.Vouched == nil:
		return false, nil
	}
	return a.Vouched(ctx, in.SubmitterProof, toolspec.SubmitterClaims{TenantID: is.TenantID, RunID: is.RunID, ActorID: is.ActorID, SubjectID: is.SubjectID})
}
