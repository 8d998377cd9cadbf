package historytest

// Version is the version of Pawl under which histories are recorded now. After a release, raise
// Version with the first change of the commands that a workflow schedules. The files that
// testdata/frozen.txt lists are released and never change.
const Version = "v0.2"

// Case is a kind of call, such as denied_by_policy, or of a run of an agent. Each version has a recorded history of
// each case. Shows lists the events by which a test recognizes the case in its history.
type Case struct {
	Name string
	// Shows are lines that the Outline of the history contains, in this order. The Outline
	// may have other lines between them.
	Shows []string
	// Waits says that the call is open: it was recorded while it waited.
	Waits bool
}

// Cases returns the cases that every version records.
func Cases() []Case {
	ended := func(name string, shows ...string) Case { return Case{Name: name, Shows: shows} }
	waits := func(name string, shows ...string) Case { return Case{Name: name, Shows: shows, Waits: true} }
	return []Case{
		ended("read_local", "local admit", "local execute", "ended ok"),
		ended("read_regular", "activity execute", "ended ok"),
		ended("write_idempotent", "activity execute", "ended ok"),
		ended("write_claimed", "local willCheckConsent", "local execute", "local settle", "ended ok"),
		// The result has the short form of the value and the reference of the whole value.
		ended("large_short", "local execute", "ended ok with a value and an output"),
		ended("approved_by_signal", "local requestApproval", "timer", "signal decide", "local reviewDecision", "activity execute", "ended ok"),
		ended("approved_by_update", "local requestApproval", "update decide", "local reviewDecision", "update decide", "local reviewDecision", "activity execute", "ended ok"),
		ended("approved_too_early", "signal decide", "local requestApproval", "local reviewDecision", "activity execute", "ended ok"),
		ended("edited_then_approved", "update decide", "local hydrate", "local requestApproval", "update decide", "activity execute", "ended ok"),
		ended("mended_then_approved", "local hydrate", "local requestApproval", "update decide", "local reviewDecision", "activity execute", "ended ok"),
		ended("denied_by_policy", "local willAuthorize", "ended policy_denied"),
		ended("denied_by_person", "signal decide", "local reviewDecision", "ended approval_denied"),
		ended("policy_changed", "signal recheck", "local reviewDecision", "local willAuthorize", "ended policy_denied"),
		ended("approval_expired", "timer", "timer fired", "local reviewDecision", "ended approval_expired"),
		ended("cancelled_waiting", "local requestApproval", "timer", "cancel", "timer cancelled", "ended cancelled"),
		ended("cancelled_retrying", "timer", "cancel", "timer cancelled", "ended cancelled"),
		ended("cancelled_in_execute", "activity execute", "cancel", "activity cancel", "ended outcome_unknown"),
		ended("retried", "activity execute", "timer", "timer fired", "activity execute", "ended ok"),
		ended("timed_out", "local execute", "timer", "local execute", "ended timeout"),
		ended("lost_unknown", "activity execute", "activity timed out", "local checkAttempt", "ended outcome_unknown"),
		// The workflow task was lost while the tool ran inside it.
		ended("lost_claimed", "local execute", "local settle", "ended outcome_unknown"),
		ended("probed_claimed", "local execute", "local checkAttempt", "activity reconcile", "ended ok"),
		ended("lost_retried", "activity execute", "activity timed out", "local checkAttempt", "timer", "activity execute", "ended ok"),
		ended("stopped_unknown", "activity execute", "ended outcome_unknown"),
		// In the first recording of this case, the call waited at execute for a worker with its tool. Now the call waits at the gate.
		ended("tool_missing", "local reviewDecision", "timer", "activity execute", "ended ok"),
		ended("tool_missing_at_gate", "local reviewDecision", "local willAuthorize", "marker Version", "local locateTool", "timer", "local willAuthorize",
			"activity execute", "ended ok"),
		ended("hook_missing", "local reviewDecision", "local willAuthorize", "timer", "local willAuthorize", "activity execute", "ended ok"),
		ended("tool_changed", "activity execute", "timer", "activity execute", "timer", "local hydrate", "activity execute", "ended ok"),
		ended("conflict", "local admit", "ended conflict"),
		ended("settled_before", "local admit", "ended ok"),
		ended("undecodable", "local admit", "ended validation"),
		ended("invalid_arguments", "local hydrate", "ended validation"),
		ended("all_stages", stages(
			"local willCreateInvokeContext", "local didCreateInvokeContext", "local willBindProviders", "local willAuthorize", "local hydrate",
			"local willCheckConsent", "local willParseInput", "local willValidateInput", "local willNormalizeInput", "local willRedactInput",
			"local requestApproval", "local willCheckFeatureFlags", "local willAcquireQuota", "local willAcquireSemaphore",
			"local willInjectSecrets", "local willReadCache", "local didCacheMiss", "activity execute", "local onRetry", "activity execute",
			"local willWriteCache", "local willRedactOutput", "local willValidateOutput", "local willTransformOutput",
		)...),
		ended("named_then_approved", "local willAuthorize", "local willCheckConsent", "local willCheckConsent", "local requestApproval", "timer", "signal recheck",
			"local reviewDecision", "local willAuthorize", "local willCheckConsent", "update decide", "local reviewDecision", "update decide", "local reviewDecision",
			"local willAuthorize", "local willCheckConsent", "activity execute", "ended ok"),
		ended("all_stages_failing", "local didCacheMiss", "activity execute", "local onRetry", "activity execute", "local onGiveUp", "local onError",
			"local willAudit", "local didAudit", "local onMetrics", "local didReleaseSemaphore", "local didReleaseQuota", "local willFinalizeInvoke",
			"local settle", "ended execution"),
		ended("waited_until", "local willAuthorize", "timer", "timer fired", "local reviewDecision", "local willAuthorize", "local execute", "ended ok"),
		ended("cache_hit", "local willReadCache", "local didCacheHit", "local willRedactOutput", "ended ok"),
		ended("responded", "local willCheckFeatureFlags", "local willRedactOutput", "ended ok"),
		ended("capacity_given", "local willAcquireQuota", "local willAcquireSemaphore", "timer", "signal recheck", "local reviewDecision", "local willAuthorize",
			"local willCheckConsent", "local willAcquireSemaphore", "activity execute", "ended ok"),
		ended("capacity_over", "local willAcquireSemaphore", "timer", "timer fired", "local willAcquireSemaphore", "ended capacity"),
		ended("capacity_given_back", "local willAcquireSemaphore", "local willNormalizeInput", "local willCheckConsent", "local requestApproval", "timer", "update decide",
			"local reviewDecision", "local willAuthorize", "local willCheckConsent", "local willAcquireSemaphore", "activity execute", "ended ok"),
		ended("quota_used_up", "local willAcquireQuota", "ended rate_limited"),
		ended("probed_effect", "activity execute", "local checkAttempt", "activity reconcile", "ended ok"),
		ended("probed_again", "activity execute", "local checkAttempt", "activity reconcile", "timer", "activity execute", "ended ok"),
		// The tool still ran after the attempt. In the first recording of this case, the call asked the probe only after a wait. Now it asks before and after the wait.
		ended("probed_late", "activity execute", "local checkAttempt", "timer", "timer fired", "activity reconcile", "timer", "activity execute", "ended ok"),
		ended("probed_early", "local checkAttempt", "activity reconcile", "timer", "timer fired", "activity reconcile", "timer", "activity execute", "ended ok"),
		ended("probed_fenced", "activity execute", "local checkAttempt", "activity reconcile", "timer", "activity execute", "ended ok"),
		ended("parked_settled", "activity execute", "local requestApproval", "timer", "update decide", "local reviewDecision", "ended ok"),
		ended("parked_retried", "activity execute", "local requestApproval", "timer", "update decide", "local reviewDecision", "local willAuthorize",
			"local willCheckConsent", "timer", "activity execute", "ended ok"),
		// The record has a claim that the call does not know. The person who decides about the parked call decides about this claim too.
		ended("parked_fenced", "local requestApproval", "timer", "signal recheck", "local admit", "local reviewDecision", "marker Version", "local checkAttempt",
			"update decide", "local reviewDecision", "ended ok"),
		ended("parked_not_approved", "local requestApproval", "timer", "update decide", "local reviewDecision", "local willAuthorize", "local willCheckConsent",
			"marker Version", "ended outcome_unknown"),
		ended("cache_kept", "local willReadCache", "local execute", "local willWriteCache", "ended ok"),
		ended("cache_found", "local willReadCache", "local didCacheHit", "ended ok"),
		ended("flight_joined", "local willReadCache", "timer", "signal recheck", "local reviewDecision", "local willReadCache", "local didCacheHit", "ended ok"),
		ended("durable", "local admit", "upsert", "local willCheckConsent", "activity willAcquireQuota", "activity completed", "local execute", "local willAudit", "activity didAudit",
			"activity completed", "local settle", "ended ok"),
		ended("durable_own", "local willCheckConsent", "local willAcquireQuota", "activity willAcquireQuota", "activity completed", "local execute",
			"ended ok"),
		ended("database_away", "local admit failed", "timer", "timer fired", "local admit", "ended ok"),
		ended("connection_local", "local willAuthorize", "local willInjectSecrets", "local execute", "ended ok"),
		ended("connection_regular", "local willAuthorize", "local willInjectSecrets", "activity execute", "ended ok"),
		ended("connection_revoked", "activity execute", "signal recheck", "local reviewDecision", "local willAuthorize", "activity cancel", "ended outcome_unknown"),
		ended("denied_in_queue", "activity execute", "signal recheck", "local reviewDecision", "local willAuthorize", "activity cancel", "activity cancelled",
			"local checkAttempt", "marker Version", "ended policy_denied"),
		ended("denied_at_dispatch", "activity execute", "activity completed", "timer", "signal recheck", "timer fired", "marker Version", "local reviewDecision",
			"local willAuthorize", "ended policy_denied"),
		ended("moved", "signal decide", "local admit", "marker Version", "local locateTool", "ended on pawl-media"),
		ended("moved_here", "local admit", "local requestApproval", "local reviewDecision", "activity execute", "ended ok"),
		ended("agent_calls", "local agentOpen", "activity agentAsk", "child", "child completed", "local agentAnswer", "activity agentAsk", "local agentClose", "ended completed"),
		ended("agent_approved", "activity agentAsk", "child", "child completed", "local agentAnswer", "local agentClose", "ended completed"),
		ended("agent_interrupted", "update message", "local agentSay", "signal interrupt", "local agentAnswer", "local agentClose", "ended interrupted"),
		ended("agent_cancelled", "child", "cancel", "child cancel", "local agentAnswer", "local agentClose", "ended cancelled"),
		ended("agent_retried", "activity agentAsk", "timer", "timer fired", "activity agentAsk", "local agentClose", "ended completed"),
		ended("agent_continued", "local agentOpen", "activity agentAsk", "child completed", "ended on pawl"),
		ended("agent_child", "activity agentAsk", "child", "child completed", "child", "child completed", "local agentAnswer", "local agentClose", "ended completed"),
		ended("agent_joined", "activity agentAsk", "child", "activity joinCall", "activity completed", "local agentAnswer", "local agentClose", "ended completed"),
		ended("trigger_fired", "local triggerFire", "ended "),
		waits("agent_waiting_call", "activity agentAsk", "child", "child started"),
		waits("agent_waiting_model", "activity agentAsk", "activity completed", "timer"),
		waits("agent_waiting_response", "local agentOpen", "activity agentAsk"),
		waits("agent_waiting_message", "local agentClose", "update message", "activity agentAsk", "local agentClose"),
		waits("waiting_approval", "local requestApproval", "timer"),
		waits("waiting_edited", "update decide", "local hydrate", "local requestApproval", "timer"),
		waits("waiting_all_stages", "local willCreateInvokeContext", "local willRedactInput", "local requestApproval", "timer"),
		waits("waiting_until", "local willAuthorize", "timer"),
		waits("waiting_retry", "activity execute", "timer"),
		waits("waiting_worker", "local reviewDecision", "timer"),
		waits("waiting_execute", "activity execute"),
		waits("waiting_probe", "activity execute", "local checkAttempt", "activity reconcile", "timer"),
		// The workflow task was lost while the tool ran inside it.
		waits("waiting_claimed", "local execute", "local checkAttempt", "activity reconcile", "timer"),
		waits("waiting_parked", "activity execute", "local requestApproval", "timer"),
		waits("waiting_capacity", "local willAcquireSemaphore", "timer"),
		waits("waiting_quota", "local willAcquireQuota", "timer"),
		waits("waiting_read", "local willReadCache", "timer"),
		waits("waiting_hook", "local requestApproval", "timer", "local reviewDecision", "local willAuthorize", "timer"),
		waits("waiting_database", "local admit failed", "timer"),
		// The call is on the shared task queue, and only a pool without a running worker has its tool.
		waits("waiting_pool", "local admit", "local locateTool", "timer"),
		// The call has moved: this Temporal run continues an earlier one, on the task queue of the pool.
		waits("waiting_in_pool", "local admit", "local requestApproval", "timer"),
	}
}

// stages appends the closing stages of a call that has a hook at every stage, and its end, to the events in before.
func stages(before ...string) []string {
	return append(before, "local willAudit", "local didAudit", "local onMetrics", "local didReleaseSemaphore", "local didReleaseQuota",
		"local willFinalizeInvoke", "local settle", "ended ok")
}
