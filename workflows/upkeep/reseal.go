package upkeep

import (
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

const (
	// resealPasses is the maximum number of passes through all secrets. A second pass is needed if a worker with
	// an older key ring seals a secret with its old key during the first pass.
	resealPasses = 5
	// resealPause is the wait between two passes, so that workers with an older key ring can
	// load the new key ring.
	resealPause = 3 * time.Second
	// resealRuns is the maximum number of activities in one run of the workflow.
	resealRuns = 500
	// resealWait is how long in all, without progress, the workflow waits for a worker that seals with the new key, which is
	// ResealIn.KeyID.
	resealWait = 10 * time.Minute
)

// ResealType is the type of the workflow that `pawl keyring rotate` starts.
const ResealType = "ResealSecrets"

// ResealID returns the id of the workflow that seals every secret with the new key keyID.
func ResealID(keyID int64) string { return "pawl-reseal:" + strconv.FormatInt(keyID, 10) }

// ResealIn is the input of ResealSecrets. KeyID is the new key, with which all secrets
// are sealed. The key rings of the workers must seal with this key.
type ResealIn struct {
	KeyID int64 `json:"keyId"`
	// State is the state of the previous run; nil in the first run.
	State *ResealState `json:"state,omitempty"`
}

// ResealState is the state that one run passes to the next. Pass counts from 1.
type ResealState struct {
	Pass int `json:"pass"`
	// Before is the number of secrets that the earlier passes sealed anew.
	Before   int                     `json:"before,omitempty"`
	Progress contract.ResealProgress `json:"progress"`
}

// ResealOut is the result of the workflow ResealSecrets.
type ResealOut struct {
	KeyID    int64 `json:"keyId"`
	Resealed int   `json:"resealed"`
	// Unopened counts the secrets that could not be decrypted. UnopenedOf names the first
	// of these secrets.
	Unopened   int                    `json:"unopened,omitempty"`
	UnopenedOf []contract.ResealPlace `json:"unopenedOf,omitempty"`
	// OtherKey says that the workflow found no worker that seals with the new key.
	OtherKey bool `json:"otherKey,omitempty"`
}

// ResealSecrets seals with the new key every secret that another key has sealed. Calls
// continue at the same time, because each secret keeps its value and version. The workflow may
// be cancelled or terminated at any time and started again.
func ResealSecrets(ctx workflow.Context, in ResealIn) (ResealOut, error) {
	s := ResealState{Pass: 1}
	if in.State != nil {
		s = *in.State
	}
	delay, waited := steps.MissingDelay, time.Duration(0)
	for runs := 0; ; runs++ {
		if runs == resealRuns || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return ResealOut{}, workflow.NewContinueAsNewError(ctx, ResealSecrets, ResealIn{KeyID: in.KeyID, State: &s})
		}
		out, err := steps.Regular(ctx, contract.Reseal, contract.ResealSecretsIn{KeyID: in.KeyID, From: s.Progress}, resealOptions())
		if err != nil {
			return ResealOut{}, err
		}
		pause := time.Duration(0)
		if out.After != s.Progress.After {
			// Progress means that a worker seals with the new key, so the wait starts over.
			delay, waited = steps.MissingDelay, 0
		}
		s.Progress = out.ResealProgress
		switch {
		case out.OtherKey && waited >= resealWait:
			return s.out(in.KeyID, true), nil
		case out.OtherKey:
			// Another worker may have the new key, or this worker may load it soon.
			pause, waited, delay = delay, waited+delay, min(2*delay, steps.MissingDelayMax)
		case out.Done && (s.Progress.Resealed == 0 || s.Pass == resealPasses):
			// This pass sealed nothing, so no secret is left to seal, or it was the last pass.
			return s.out(in.KeyID, false), nil
		case out.Done:
			// The next pass finds secrets that a worker with an older key ring sealed.
			pause = resealPause
			s = ResealState{Pass: s.Pass + 1, Before: s.Before + s.Progress.Resealed}
		}
		if pause > 0 {
			if err := workflow.Sleep(ctx, pause); err != nil {
				return ResealOut{}, err
			}
		}
	}
}

func (s ResealState) out(keyID int64, other bool) ResealOut {
	return ResealOut{
		KeyID: keyID, Resealed: s.Before + s.Progress.Resealed, Unopened: s.Progress.Unopened, UnopenedOf: s.Progress.UnopenedOf, OtherKey: other,
	}
}

// resealOptions returns the options of the activity Reseal. The server retries it without a limit, because the
// database may be unavailable for long.
func resealOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute,
		HeartbeatTimeout:    steps.HeartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    30 * time.Second,
		},
		Summary: "seal credentials with the newest key",
	}
}
