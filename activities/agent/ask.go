package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/activities/judge"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// maxCallBytes bounds the total size of the arguments of the calls of one response, in bytes of the inputs of their workflows. The workflow
// history has these arguments, and one workflow task may start all of these calls.
const maxCallBytes = 1 << 20

// askTime bounds one request. It is shorter than the time that Temporal gives the activity, so that the activity can say why
// there is no response.
const askTime = contract.AgentAskTime - time.Minute

// Ask asks the model and records its response as a round, if the round is not recorded yet. If the worker is lost, or the request is
// cancelled, after the response has arrived and before it is recorded, the response has no effect, and its usage does not count.
func (a *Agents) Ask(ctx context.Context, in contract.AgentAskIn) (out contract.AgentAskOut, err error) {
	// Everybody with access to the namespace can schedule this activity.
	if contract.Executing(ctx).WorkflowID != pawlagent.WorkflowID(in.Run.TenantID, in.Run.RunID) {
		return out, errors.New("the request is from another workflow")
	}
	leave, err := a.enter(ctx, in.Run.TenantID)
	if err != nil {
		return out, err
	}
	defer leave()
	stop := heartbeat.Send[struct{}](ctx, nil)
	defer stop()
	asking, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for {
		if out, err = a.ask(ctx, asking, in); !errors.Is(err, errMoved) {
			return out, err
		}
	}
}

// ask is one try of Ask. asking is ctx with the time limit of the request to the model. The error is errMoved if the try has changed the
// Context of the run in the record: then the caller tries again.
func (a *Agents) ask(ctx, asking context.Context, in contract.AgentAskIn) (out contract.AgentAskOut, err error) {
	run, err := a.Store.AgentRun(ctx, in.Run)
	if err != nil {
		return out, err
	}
	if a.isElsewhere(run) {
		return out, errors.New("the run is of another namespace")
	}
	if in.Round <= run.Round {
		return out, nil // the round is recorded
	}
	if end, err := a.endOf(ctx, in.Run, run); err != nil || end != nil {
		return out, err // Round returns the end to the workflow
	}
	model := run.Document.Model
	if in.Fallback && run.Document.Fallback != nil {
		model = *run.Document.Fallback
	}
	round, promptHash, taken, err := a.askModel(asking, in, run, model)
	if err != nil && ctx.Err() == nil && asking.Err() != nil {
		err = &provider.Error{Kind: "timeout", Retry: true}
	}
	var failed *provider.Error
	var unusable *unusableError
	switch {
	case err == nil:
	case errors.As(err, &failed):
		a.Log.WarnContext(ctx, "a model provider gave no response", "workflowId", contract.Executing(ctx).WorkflowID, "round", in.Round, "model", model.Name, "reason", errs.Reason(err))
		return contract.AgentAskOut{Fault: &contract.AgentFault{Reason: failed.Error() + at(model), Retry: failed.Retry, AfterMs: failed.After.Milliseconds()}}, nil
	case errors.As(err, &unusable):
		return contract.AgentAskOut{Fault: &contract.AgentFault{Reason: unusable.Error(), OverBudget: unusable.overBudget}}, nil
	default:
		return out, err
	}
	return out, a.record(ctx, func() error { return a.Store.RecordRound(ctx, in.Run, round, promptHash, taken) })
}

// recordPause is the time between two tries to record a response.
const recordPause = time.Second

// record calls write, which records a response. While the database is away, record tries again until ctx ends: another execution of the
// activity would ask the model again, and the usage of this response would not count.
func (a *Agents) record(ctx context.Context, write func() error) error {
	for try := 1; ; try++ {
		err := write()
		if !errs.IsTransient(err) {
			return err
		}
		if try == 1 {
			a.Log.WarnContext(ctx, "the response of a model waits for the database", "workflowId", contract.Executing(ctx).WorkflowID, "reason", errs.Reason(err))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(recordPause):
		}
	}
}

// Round reads the response of a round, or how the run ends before it.
func (a *Agents) Round(ctx context.Context, in contract.AgentRoundIn) (out contract.AgentRoundOut, err error) {
	run, recorded, found, err := a.Store.AgentRunAt(ctx, in.Run, in.Round)
	if err != nil || found {
		return roundOut(run, recorded), err
	}
	out.End, err = a.endOf(ctx, in.Run, run)
	if err == nil && out.End == nil && in.OverBudget != "" {
		out.End = &contract.AgentEnd{Outcome: pawlagent.OverBudget, Reason: in.OverBudget}
	}
	return out, err
}

// endOf returns how the run must end because of a limit or a kill switch, or nil if the run may ask a model.
func (a *Agents) endOf(ctx context.Context, of contract.AgentRun, run Run) (*contract.AgentEnd, error) {
	if end := endByLimit(run); end != nil {
		return end, nil
	}
	reason, err := a.Killed(ctx, of.TenantID, run.Document.Name)
	if err != nil || reason == "" {
		return nil, err
	}
	return &contract.AgentEnd{Outcome: pawlagent.Failed, Reason: reason}, nil
}

// at returns " at " and the URL of a model, for the end of an error text. It returns "" if the model has no URL.
func at(model pawlagent.Model) string {
	if model.URL == "" {
		return ""
	}
	return " at " + model.URL
}

// unusableError says why a model cannot be asked, or why its response cannot be used. Its text is safe to show.
type unusableError struct {
	reason string
	// overBudget says that the request would use more of a limit than the run has left.
	overBudget bool
}

func (e *unusableError) Error() string { return e.reason }

// LogReason returns the text of Error, which is safe for logs.
func (e *unusableError) LogReason() string { return e.reason }

func unusable(format string, args ...any) error {
	return &unusableError{reason: fmt.Sprintf(format, args...)}
}

// askModel asks the model for the response of a round. It returns the round, the hash of its prompt, and the number of the last message of
// a person in the request.
func (a *Agents) askModel(ctx context.Context, in contract.AgentAskIn, run Run, model pawlagent.Model) (r Round, promptHash string, taken int64, err error) {
	codec, ok := codecs[model.Format]
	if !ok {
		return r, "", 0, unusable("the format %s of the model is unknown to this worker", model.Format)
	}
	past, err := a.Store.AgentConversation(ctx, in.Run, run.Context)
	if err != nil {
		return r, "", 0, err
	}
	offer, offered, err := a.offer(ctx, in, run, past, model, codec)
	if err != nil {
		return r, "", 0, err
	}
	about, err := a.agentsText(ctx, run)
	if err != nil {
		return r, "", 0, err
	}
	run.Document.Instructions += about
	request, taken, err := a.request(ctx, in.Run, run, past, codec)
	if err != nil {
		return r, "", 0, err
	}
	request.Codec, request.Model, request.Tools, request.Choice, request.Members = codec, model.Name, offer.Tools, offer.Choice, model.Members
	request.MaxTokens = model.MaxTokens
	limited, err := a.bound(&request, run, model, isInputCached(past, model))
	if err != nil {
		return r, "", 0, err
	}
	http, base, done, err := a.modelClient(ctx, in.Run, run, model)
	if err != nil {
		return r, "", 0, err
	}
	defer done()
	sending, answered := a.watch(ctx, model)
	body, err := provider.Open(sending, http, base, request)
	if err != nil {
		answered(wire.Response{}, err)
		return r, "", 0, err
	}
	defer func() { _ = body.Close() }()
	planned, published, err := a.turnOf(ctx, in, run, codec, offer).Receive(ctx, a.Client, body)
	if err == nil && planned.Response.Finish == wire.FinishCut {
		err = &provider.Error{Kind: "cut", Retry: true}
	}
	if err != nil {
		err = readFault(err)
	}
	answered(planned.Response, err)
	usage := planned.Response.Usage
	if !usage.Reported {
		// A limit of tokens must also hold if the provider counts no tokens, or if the response ends before the count comes.
		usage = estimateUsage(request, planned.Response.Message)
	}
	if err != nil {
		a.countLost(ctx, in.Run, model, usage)
		return r, "", 0, err
	}
	if published != nil {
		a.Log.WarnContext(ctx, "the text of a model could not be shown to the watchers of its run", "workflowId", contract.Executing(ctx).WorkflowID, "reason", errs.Reason(published))
	}
	plan := a.plan(run, planned)
	if limited != "" && plan.Finish == wire.FinishLength && len(plan.Calls) == 0 {
		plan.OverBudget = "the response was cut at what was left of the run's limit of " + limited
	}
	if run.Document.Limits.Offered > 0 {
		for _, spec := range offered {
			plan.Offered = append(plan.Offered, spec.Name)
		}
	}
	r = Round{Round: in.Round, Format: model.Format, Model: model.Name, Usage: usage}
	if r.Plan, ok = a.clean(ctx, plan); !ok {
		a.countLost(ctx, in.Run, model, usage)
		return r, "", 0, unusable(unclean)
	}
	r.MicroUSD = a.price(model, r.Usage)
	asked := run.Document
	asked.Model = model
	promptHash, err = pawlagent.PromptHash(asked, offered)
	return r, promptHash, taken, err
}

// readFault returns the error of a response that could not be read. If the response does not follow its format,
// the error allows another request, because the next response may follow the format.
func readFault(err error) error {
	var failed *provider.Error
	if errors.As(err, &failed) || errors.Is(err, context.Canceled) || errs.IsTransient(err) {
		return err
	}
	var sent *wire.ProviderError
	switch {
	case errors.As(err, &sent):
		return provider.Sent(sent)
	case errors.Is(err, context.DeadlineExceeded):
		return &provider.Error{Kind: "timeout", Retry: true}
	}
	return &provider.Error{Kind: "foreign_response", Retry: true}
}

// offer returns the tools of the request in the form that the model provider gets, and in offered their specs, in the order in which the
// agent lists them. It leaves out tools that the run may not use or that pick does not choose.
func (a *Agents) offer(ctx context.Context, in contract.AgentAskIn, run Run, c Conversation, model pawlagent.Model, codec wire.Codec) (offer client.Offer, offered []toolspec.Spec, err error) {
	allowed := tools(run)
	if len(allowed) == 0 {
		return client.Offer{Format: codec.Format()}, nil, nil
	}
	viewer := catalog.Viewer{TenantID: in.Run.TenantID, ActorID: run.Input.Context.ActorID, GraphID: run.Input.Context.GraphID, ToolIDs: allowed}
	o := client.OfferOptions{Codec: codec, Strict: model.Strict, Pick: func(visible catalog.Catalog) (picked []catalog.Entry) {
		for _, id := range pick(visible, run, allowed, wanted(run, c.Said)) {
			if e, ok := visible.Get(id); ok {
				picked, offered = append(picked, e), append(offered, e.Spec)
			}
		}
		return picked
	}}
	if offer, err = a.Client.Offer(ctx, viewer, o); err != nil || len(offer.Tools) == 0 {
		return offer, offered, judge.MarkUnreadable(err)
	}
	if choice := choiceOf(run, offered); choice != (wire.Choice{}) {
		offer, err = offer.WithChoice(codec, choice)
	}
	return offer, offered, err
}

// choiceOf returns the tool choice of a request, or the zero Choice. A model that must call a tool in each
// round never ends the run. So a Named choice applies to the first round only. A Required choice does too,
// unless core__done is offered: a call of core__done ends the run.
func choiceOf(run Run, offered []toolspec.Spec) wire.Choice {
	isFirst := run.Totals.Rounds == 0
	isOffered := func(tool string) bool {
		return slices.ContainsFunc(offered, func(s toolspec.Spec) bool { return s.Name == tool })
	}
	choice := wire.Choice{Mode: run.Document.Choice.Mode, Name: run.Document.Choice.Tool}
	applies := true
	switch choice.Mode {
	case wire.Named:
		applies = isFirst && isOffered(choice.Name)
	case wire.Required:
		applies = isFirst || isOffered(pawlagent.DoneTool)
	default: // the other modes force no call
	}
	if !applies {
		return wire.Choice{}
	}
	return choice
}

// turnOf returns the turn that reads the response of a round.
func (a *Agents) turnOf(ctx context.Context, in contract.AgentAskIn, run Run, codec wire.Codec, offer client.Offer) turn.Turn {
	key := "r" + strconv.Itoa(in.Round)
	if run.Parent != nil {
		key = run.Parent.ToolCallID + "." + key // the calls are calls of the parent's run
	}
	t := turn.Turn{
		// OwnIDs, because a provider may give calls of different rounds the same id.
		Key: key, OwnIDs: true, Codec: codec, Streamed: true, Offer: offer, Context: run.Input.Context, Publish: run.Parent == nil, Secrets: a.secrets(),
		Prepare: func(inv *toolspec.Invocation) error {
			inv.Context.ConnectionID = run.Input.Connections[inv.ToolID]
			return nil
		},
	}
	// A model answers a repeated request with another text. So the text of each attempt has a key of its own.
	if activity.IsActivity(ctx) {
		info := activity.GetInfo(ctx)
		t.TextKey = fmt.Sprintf("%s.%.40s.%d", key, info.ActivityID, info.Attempt)
	}
	return t
}
