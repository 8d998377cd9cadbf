package workflows

import (
	"slices"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Reseal is the activity of the workflow ResealSecrets.
var Reseal = Activity[ResealSecretsIn, ResealSecretsOut]{nameReseal}

const (
	// resealPasses bounds how often all secrets are gone through: once, and again for
	// those that workers with an older key ring sealed meanwhile.
	resealPasses = 5
	// resealPause is how long such a worker is given to see the ring.
	resealPause = 3 * time.Second
	// resealRuns is how many activities one run of the workflow has.
	resealRuns = 500
	// resealWait is how long the workflow waits for a worker that seals with the key.
	resealWait = 10 * time.Minute
	// maxUnopened bounds the list of what does not open, in entries.
	maxUnopened = 20
)

// ResealID names the workflow that makes a key the one that sealed everything.
func ResealID(keyID int64) string { return "pawl-reseal:" + strconv.FormatInt(keyID, 10) }

// ResealIn asks for every secret to be sealed with a key, which the workers' key
// rings seal with.
type ResealIn struct {
	KeyID int64 `json:"keyId"`
	// By is who asks, for the audit trail.
	By string `json:"by,omitempty"`
	// State is where the run before this one was.
	State *ResealState `json:"state,omitempty"`
}

// ResealState is what goes from one run to the next.
type ResealState struct {
	Pass int `json:"pass"`
	// Before is how many secrets the earlier passes sealed anew.
	Before   int            `json:"before,omitempty"`
	Progress ResealProgress `json:"progress"`
}

// ResealOut is the result of the workflow ResealSecrets.
type ResealOut struct {
	KeyID    int64 `json:"keyId"`
	Resealed int   `json:"resealed"`
	// Unopened counts the secrets that did not open; some of them are named.
	Unopened   int           `json:"unopened,omitempty"`
	UnopenedOf []ResealPlace `json:"unopenedOf,omitempty"`
	// OtherKey says that no worker was found that seals with the key.
	OtherKey bool `json:"otherKey,omitempty"`
}

// ResealPlace names a secret.
type ResealPlace struct {
	TenantID     string `json:"tenantId,omitempty"`
	ConnectionID string `json:"connectionId,omitempty"`
	Version      int    `json:"version,omitempty"`
}

// ResealProgress is how far a pass through all secrets is.
type ResealProgress struct {
	// After is the last place that was looked at.
	After      ResealPlace   `json:"after"`
	Resealed   int           `json:"resealed,omitempty"`
	Unopened   int           `json:"unopened,omitempty"`
	UnopenedOf []ResealPlace `json:"unopenedOf,omitempty"`
}

// WithUnopened counts one that does not open.
func (p ResealProgress) WithUnopened(tenantID, connectionID string) ResealProgress {
	p.Unopened++
	if len(p.UnopenedOf) < maxUnopened {
		p.UnopenedOf = append(slices.Clone(p.UnopenedOf), ResealPlace{TenantID: tenantID, ConnectionID: connectionID})
	}
	return p
}

// ResealSecretsIn asks for the secrets after a place.
type ResealSecretsIn struct {
	KeyID int64          `json:"keyId"`
	By    string         `json:"by,omitempty"`
	From  ResealProgress `json:"from"`
}

// ResealSecretsOut says how far it got.
type ResealSecretsOut struct {
	ResealProgress
	// Done says that there are no more.
	Done bool `json:"done,omitempty"`
	// OtherKey says that the worker does not seal with the key.
	OtherKey bool `json:"otherKey,omitempty"`
}

// ResealSecrets seals every secret anew that is not sealed with the key, while
// calls go on: what is sealed stays the same secret of the same version. It may be
// cancelled or terminated at any time and started again.
func ResealSecrets(ctx workflow.Context, in ResealIn) (ResealOut, error) {
	s := ResealState{Pass: 1}
	if in.State != nil {
		s = *in.State
	}
	delay, waited := missingDelay, time.Duration(0)
	for runs := 0; ; runs++ {
		if runs == resealRuns || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return ResealOut{}, workflow.NewContinueAsNewError(ctx, ResealSecrets, ResealIn{KeyID: in.KeyID, By: in.By, State: &s})
		}
		out, err := regular(ctx, Reseal, ResealSecretsIn{KeyID: in.KeyID, By: in.By, From: s.Progress}, resealOptions())
		if err != nil {
			return ResealOut{}, err
		}
		pause := time.Duration(0)
		if out.After != s.Progress.After {
			delay, waited = missingDelay, 0
		}
		s.Progress = out.ResealProgress
		switch {
		case out.OtherKey && waited >= resealWait:
			return s.out(in.KeyID, true), nil
		case out.OtherKey:
			pause, waited, delay = delay, waited+delay, min(2*delay, missingDelayMax)
		case out.Done && (s.Progress.Resealed == 0 || s.Pass == resealPasses):
			return s.out(in.KeyID, false), nil
		case out.Done:
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

// resealOptions repeats the activity for as long as it takes: a database that is
// away comes back.
func resealOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    30 * time.Second,
		},
		Summary: "seal credentials with the newest key",
	}
}
