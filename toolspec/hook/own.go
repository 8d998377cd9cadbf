package hook

import "slices"

// own names Pawl's own step at each stage that has one. A change here needs a higher
// PlanVersion, so that a worker of an older release does not skip the step.
var own = map[Stage]string{
	WillBindProviders.stage:     "sessions",
	WillAuthorize.stage:         "policy",
	WillCheckConsent.stage:      "policy",
	WillCheckFeatureFlags.stage: "features",
	WillAcquireQuota.stage:      "quota",
	WillAcquireSemaphore.stage:  "semaphore",
	WillValidateInput.stage:     "validation",
	WillNormalizeInput.stage:    "validation",
	WillInjectSecrets.stage:     "connections",
	WillReadCache.stage:         "cache",
	DidCacheHit.stage:           "cache",
	WillWriteCache.stage:        "cache",
	WillAudit.stage:             "audit",
}

// Own returns the name of Pawl's own step at a stage, or "". The step runs before the
// hooks of the stage, after them, or both.
func Own(s Stage) string { return own[s] }

// isOnDemand reports whether Pawl's step at a stage runs only if the gate demands it for the call: the
// quota step, for example, only for a call that a quota limits.
func isOnDemand(s Stage) bool {
	switch own[s] {
	case "features", "quota", "semaphore", "connections", "cache":
		return true
	}
	return false
}

// isReserved reports whether a hook must not have the name, because records use the name for one
// of Pawl's steps.
func isReserved(name string) bool {
	if slices.Contains([]string{"shadow", "redaction"}, name) {
		return true
	}
	for _, step := range own {
		if step == name {
			return true
		}
	}
	return false
}
