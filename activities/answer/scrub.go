package answer

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Scrubbed wraps the function of an activity that runs a tool, a hook or other code of a user. It removes every
// live secret from the output of the function. If it cannot remove a secret, it returns lost(out) instead of
// the output. name is the name of the activity in the log.
func Scrubbed[In, Out any](
	secrets *fingerprint.Set, log *slog.Logger, name string, f func(context.Context, In) (Out, error), lost func(Out) Out,
) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		out, err := f(ctx, in)
		if err != nil || secrets == nil || secrets.Len() == 0 {
			return out, err
		}
		clean, leaked, ok := scrub(out, secrets)
		if leaked {
			log.WarnContext(ctx, "a secret stood in what a step was to answer, and was taken out", "activity", name, "everything", !ok)
		}
		if !ok {
			return lost(out), nil
		}
		return clean, nil
	}
}

func scrub[Out any](out Out, secrets *fingerprint.Set) (clean Out, leaked, ok bool) {
	text, err := json.Marshal(out)
	if err != nil || len(secrets.Find(text)) == 0 {
		return out, false, true // an output that cannot be encoded cannot leave the worker
	}
	text, ok = redact.JSON(text, secrets)
	if !ok || json.Unmarshal(text, &clean) != nil {
		return clean, true, false
	}
	return clean, true, true
}

// LostExecute replaces an answer of an attempt, because a secret could not be removed from that answer. The
// tool ran, and its result is lost. The replacement names the claim, so that the call can account for it. If the
// tool gave no answer, the replacement says so too: the outcome of the attempt stays unknown.
func LostExecute(out contract.ExecuteOut) contract.ExecuteOut {
	lost := contract.ExecuteOut{
		Outcome: contract.Refused, ClaimID: out.ClaimID, Dispatch: out.Dispatch, LeftBehind: out.LeftBehind, DurationUs: out.DurationUs,
		Failure: &hook.Failure{Code: toolspec.CodeRedactionFailed},
	}
	if out.Outcome == contract.Interrupted && out.Failure != nil {
		lost.Outcome, lost.Failure.Code = contract.Interrupted, out.Failure.Code // one of Pawl's own codes
	}
	return lost
}

// LostStage replaces an answer of a stage, because a secret could not be removed from that answer.
func LostStage(v hook.Verdict) hook.Verdict {
	return hook.Verdict{Outcome: hook.Failed, DurationUs: v.DurationUs, Failure: &hook.Failure{Code: toolspec.CodeRedactionFailed}}
}

// LostProbe replaces an answer of a probe, because a secret could not be removed from that answer.
func LostProbe(out contract.ProbeOut) contract.ProbeOut {
	return contract.ProbeOut{Outcome: contract.Lost, DurationUs: out.DurationUs}
}
