package hook

import "context"

// Stage is the name of a stage, as in docs/lifecycle.md and in the UI of Temporal.
type Stage string

// Phase groups stages that the workflow handles in the same way.
type Phase string

// The phases, in the order of a call.
const (
	PhaseContext  Phase = "context"
	PhaseGate     Phase = "gate"
	PhaseHydrate  Phase = "hydrate"
	PhaseConsent  Phase = "consent"
	PhaseCapacity Phase = "capacity"
	PhaseInput    Phase = "input"
	PhaseSecrets  Phase = "secrets"
	PhaseCache    Phase = "cache"
	PhaseExecute  Phase = "execute"
	PhaseOutput   Phase = "output"
	PhaseError    Phase = "error"
	PhaseAudit    Phase = "audit"
	PhaseRelease  Phase = "release"
	PhaseFinal    Phase = "final"
)

// FailurePolicy says how an error or a panic of a hook at a stage affects the call.
type FailurePolicy string

// The failure policies.
const (
	// Closed fails the call with `internal`.
	Closed FailurePolicy = "closed"
	// Logged records the failure. The call continues.
	Logged FailurePolicy = "logged"
)

// Point is a stage with the view that its hooks get.
type Point[V any] struct {
	stage Stage
	view  func(*core) V
}

// Stage returns the name of the stage.
func (p Point[V]) Stage() Stage { return p.stage }

// Do returns a handler that calls f at this stage.
func (p Point[V]) Do(f func(ctx context.Context, v V) error) Handler {
	return Handler{stage: p.stage, call: func(ctx context.Context, c *core) error { return f(ctx, p.view(c)) }}
}

// The 32 stages. Every worker registers all of them.
var (
	WillCreateInvokeContext = Point[*Begin]{"willCreateInvokeContext", newBegin}
	DidCreateInvokeContext  = Point[*Begin]{"didCreateInvokeContext", newBegin}
	WillBindProviders       = Point[*Binder]{"willBindProviders", newBinder}
	WillAuthorize           = Point[*Gate]{"willAuthorize", newGate}
	WillCheckConsent        = Point[*Consent]{"willCheckConsent", newConsent}
	WillCheckFeatureFlags   = Point[*Check]{"willCheckFeatureFlags", newCheck}
	WillAcquireQuota        = Point[*Check]{"willAcquireQuota", newCheck}
	WillAcquireSemaphore    = Point[*Check]{"willAcquireSemaphore", newCheck}
	WillParseInput          = Point[*Input]{"willParseInput", newInput}
	WillValidateInput       = Point[*Input]{"willValidateInput", newInput}
	WillNormalizeInput      = Point[*Input]{"willNormalizeInput", newInput}
	WillRedactInput         = Point[*Input]{"willRedactInput", newInput}
	WillInjectSecrets       = Point[*Check]{"willInjectSecrets", newCheck}
	WillReadCache           = Point[*Lookup]{"willReadCache", newLookup}
	DidCacheHit             = Point[*Cached]{"didCacheHit", newCached}
	DidCacheMiss            = Point[*Check]{"didCacheMiss", newCheck}
	OnRetry                 = Point[*Attempt]{"onRetry", newAttempt}
	AroundExecute           = Point[*Around]{"aroundExecute", newAround}
	WillExecute             = Point[*Attempt]{"willExecute", newAttempt}
	DidExecute              = Point[*Executed]{"didExecute", newExecuted}
	OnGiveUp                = Point[*Report]{"onGiveUp", newReport}
	WillWriteCache          = Point[*Keep]{"willWriteCache", newKeep}
	WillRedactOutput        = Point[*Output]{"willRedactOutput", newOutput}
	WillValidateOutput      = Point[*Output]{"willValidateOutput", newOutput}
	WillTransformOutput     = Point[*Output]{"willTransformOutput", newOutput}
	OnError                 = Point[*Report]{"onError", newReport}
	WillAudit               = Point[*Audit]{"willAudit", newAudit}
	DidAudit                = Point[*Report]{"didAudit", newReport}
	OnMetrics               = Point[*Report]{"onMetrics", newReport}
	DidReleaseSemaphore     = Point[*Report]{"didReleaseSemaphore", newReport}
	DidReleaseQuota         = Point[*Report]{"didReleaseQuota", newReport}
	WillFinalizeInvoke      = Point[*Report]{"willFinalizeInvoke", newReport}
)

// Hydrate is Pawl's own step among the stages: no hook runs at it.
const Hydrate Stage = "hydrate"

// Info is a row of the stage table.
type Info struct {
	Stage   Stage
	Phase   Phase
	Failure FailurePolicy
}

// Pre returns the stages before execute, in order.
func Pre() []Info {
	return []Info{
		{WillCreateInvokeContext.stage, PhaseContext, Closed},
		{DidCreateInvokeContext.stage, PhaseContext, Closed},
		{WillBindProviders.stage, PhaseContext, Closed},
		{WillAuthorize.stage, PhaseGate, Closed},
		{Hydrate, PhaseHydrate, Closed},
		{WillCheckConsent.stage, PhaseConsent, Closed},
		{WillCheckFeatureFlags.stage, PhaseConsent, Closed},
		{WillAcquireQuota.stage, PhaseCapacity, Closed},
		{WillAcquireSemaphore.stage, PhaseCapacity, Closed},
		{WillParseInput.stage, PhaseInput, Closed},
		{WillValidateInput.stage, PhaseInput, Closed},
		{WillNormalizeInput.stage, PhaseInput, Closed},
		{WillRedactInput.stage, PhaseInput, Closed},
		{WillInjectSecrets.stage, PhaseSecrets, Closed},
		{WillReadCache.stage, PhaseCache, Closed},
		{DidCacheHit.stage, PhaseCache, Closed},
		{DidCacheMiss.stage, PhaseCache, Closed},
	}
}

// Execute returns the stages around and inside one attempt. OnRetry runs before every attempt
// except the first. OnGiveUp runs after the last attempt has failed.
func Execute() []Info {
	return []Info{
		{OnRetry.stage, PhaseExecute, Closed},
		{AroundExecute.stage, PhaseExecute, Closed},
		{WillExecute.stage, PhaseExecute, Closed},
		{DidExecute.stage, PhaseExecute, Closed},
		{OnGiveUp.stage, PhaseExecute, Logged},
	}
}

// Post returns the stages that follow a value.
func Post() []Info {
	return append([]Info{
		{WillWriteCache.stage, PhaseOutput, Logged},
		{WillRedactOutput.stage, PhaseOutput, Closed},
		{WillValidateOutput.stage, PhaseOutput, Closed},
		{WillTransformOutput.stage, PhaseOutput, Closed},
	}, ending()...)
}

// Error returns the stages that follow an error.
func Error() []Info {
	return append([]Info{{OnError.stage, PhaseError, Logged}}, ending()...)
}

// ending returns the last stages of every call, after a value and after an error. The two release stages
// are in the reverse order of the stages that acquire.
func ending() []Info {
	return []Info{
		{WillAudit.stage, PhaseAudit, Logged},
		{DidAudit.stage, PhaseAudit, Logged},
		{OnMetrics.stage, PhaseAudit, Logged},
		{DidReleaseSemaphore.stage, PhaseRelease, Logged},
		{DidReleaseQuota.stage, PhaseRelease, Logged},
		{WillFinalizeInvoke.stage, PhaseFinal, Logged},
	}
}

// All returns the 32 stages, once each, in the order of a call.
func All() []Info {
	var all []Info
	for _, info := range Pre() {
		if info.Stage != Hydrate {
			all = append(all, info)
		}
	}
	all = append(all, Execute()...)
	all = append(all, Post()[:4]...) // without the stages of ending, which Error has too
	return append(all, Error()...)
}

// InfoOf returns the row of a stage; ok is false if there is no such stage.
func InfoOf(s Stage) (info Info, ok bool) {
	info, ok = infos[s]
	return info, ok
}

// infos is a map because every step of a call looks up its stage.
var infos = func() map[Stage]Info {
	table := map[Stage]Info{}
	for _, info := range All() {
		table[info.Stage] = info
	}
	return table
}()
