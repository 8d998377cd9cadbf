package attack

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"

	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// object is JSON that the attacker writes by hand.
type object = map[string]any

// victims are calls that the attacker would like to run, to change or to end, and all that is known of them. The attacker knows more here
// than a history tells him where payloads are sealed.
type victims struct {
	// waiting waits for a signed approval, held runs its tool, hooked runs its durable hook, and over has ended.
	waiting, held, hooked, over victim
	// approval is the request of waiting.
	approval toolspec.ApprovalView
	// other is the neighbour's call, and namespace is where that runs.
	other     victim
	namespace string
}

// victim is one call. genuine is its last regular activity, where it has one.
type victim struct {
	inv     toolspec.Invocation
	record  reads.Detail
	genuine scheduled
}

// victims starts the calls and waits until each is where it is to be.
func (w *world) victims(t *testing.T, neighbour *world) *victims {
	t.Helper()
	v := &victims{namespace: neighbour.namespace}
	known := func(w *world, inv toolspec.Invocation, genuine scheduled) victim {
		return victim{inv, w.record(t, inv), genuine}
	}
	waiting, held, hooked := call("waiting", toolPay, args("pay", "")), call("held", toolSend, args("send", noteHold)), call("hooked", toolHooked, args("hooked", ""))
	over, other := call("over", toolSend, args("over", "")), call("other", toolPay, args("other", ""))
	waits, overs := w.start(t, waiting), w.start(t, over)
	for _, inv := range []toolspec.Invocation{held, hooked} {
		w.start(t, inv)
	}
	others := neighbour.start(t, other)
	v.approval = w.waiting(t, waits.WorkflowID)
	neighbour.waiting(t, others.WorkflowID)
	if result := w.result(t, overs); !result.OK {
		t.Fatalf("a call ended with %+v", result)
	}
	until(t, "the tool and the durable hook run", func() bool {
		return w.effects.arrivals(inTool("held")) > 0 && w.effects.arrivals(inHook("hooked")) > 0
	})
	v.waiting, v.other = known(w, waiting, scheduled{}), known(neighbour, other, scheduled{})
	v.held = known(w, held, w.attacker.running(t, held.Identity().WorkflowID(), "execute", 1))
	v.hooked = known(w, hooked, w.attacker.running(t, hooked.Identity().WorkflowID(), "willAcquireQuota", 1))
	v.over = known(w, over, w.attacker.activities(t, over.Identity().WorkflowID(), "execute")[0])
	return v
}

// facts are those of a call as its next stage would be told of it.
func (v victim) facts() object {
	return object{
		"invocationId": v.inv.Identity().InvocationID(), "toolId": v.inv.ToolID, "toolCallId": v.inv.ToolCallID, "context": v.inv.Context,
		"effect": v.record.Plan.Effect, "risk": v.record.Plan.Risk, "toolDigest": v.record.Plan.ToolDigest, "policyDigest": v.record.PolicyDigest,
		"inputDigest": v.record.InputDigest, "epoch": v.record.Epoch, "round": 1, "attempt": 1, "args": v.inv.Args, "safeArgs": v.inv.Args,
		"startedAtMs": time.Now().UnixMilli(), "nowMs": time.Now().UnixMilli(), "remainingMs": 60_000,
	}
}

// with returns the facts of another call of the same tool.
func with(facts object, changes object) object {
	changed := maps.Clone(facts)
	maps.Copy(changed, changes)
	return changed
}

// attempt is an input of execute.
func (v victim) attempt(facts object, dispatch int, permit any) object {
	return object{
		"facts": facts, "epoch": v.record.Epoch, "dispatch": dispatch, "planVersion": v.record.Plan.V, "permit": permit,
		"maxRuntimeMs": 30_000, "maxResultBytes": 65536,
	}
}

// stage is an input of a stage.
func (v victim) stage(name string, hooks []string) object {
	return object{
		"stage": name, "hooks": hooks, "own": hook.Own(hook.Stage(name)), "part": "hooks", "before": object{}, "planVersion": v.record.Plan.V, "budgetMs": 5000, "facts": v.facts(),
		"terms": object{"maxRuntimeMs": 30_000, "maxResultBytes": 65536, "once": true},
	}
}

// forgery is a task of the attacker's, and what may come of it.
type forgery struct {
	what    string
	payload *common.Payload
	// outcomes are those with which a worker turns it down. Without any the task has to fail.
	outcomes []string
	// anything says that the answer is of no interest: the activity is for everybody, and only what it does counts.
	anything bool
}

// permitOf is the permit of an input in clear; there is none in one that is sealed.
func permitOf(p *common.Payload) any {
	var in struct {
		Permit json.RawMessage `json:"permit"`
	}
	if json.Unmarshal(p.GetData(), &in) != nil || in.Permit == nil {
		return object{"maxRuntimeMs": 30_000, "maxResultBytes": 65536, "signature": "bWFkZSB1cA"}
	}
	return in.Permit
}

// forgeries are the inputs with which the attacker schedules each activity.
func forgeries() map[string]func(v *victims) []forgery {
	all := map[string]func(v *victims) []forgery{
		"admit": func(v *victims) []forgery {
			var found []forgery
			for _, one := range []victim{v.waiting, v.held, v.other, {inv: call("new", toolPay, args("new", ""))}} {
				found = append(found, local("of "+one.inv.ToolCallID, object{
					"input": plain(one.inv).GetData(), "encoding": "json/plain", "workflowId": one.inv.Identity().WorkflowID(), "runId": "another-run", "namespace": v.namespace,
					"nowMs": time.Now().UnixMilli(),
				}))
			}
			return found
		},
		"locateTool": func(v *victims) []forgery {
			return []forgery{local("of a neighbour", object{"toolId": toolPay, "namespace": v.namespace, "taskQueue": "pawl-evil"})}
		},
		"hydrate": func(v *victims) []forgery {
			return []forgery{local("of a call", object{
				"invocationId": v.waiting.record.InvocationID, "toolId": toolPay, "planVersion": v.waiting.record.Plan.V, "input": plain(v.waiting.inv).GetData(),
			})}
		},
		"requestApproval": func(v *victims) []forgery {
			return []forgery{
				local("another request", object{"facts": v.held.facts(), "epoch": v.held.record.Epoch, "last": 0, "ask": object{}}),
				local("a request to park", object{"facts": v.held.facts(), "epoch": v.held.record.Epoch, "last": 0, "ask": object{}, "parked": "lost"}),
			}
		},
		"reviewDecision": func(v *victims) []forgery {
			id := object{"invocationId": v.waiting.record.InvocationID, "toolId": toolPay, "tenantId": "acme", "approvalId": v.approval.ApprovalID, "epoch": v.waiting.record.Epoch, "gate": 9}
			return []forgery{
				local("an approval", with(id, object{"decision": object{"approvalId": v.approval.ApprovalID, "decision": "approve", "digest": v.approval.Digest, "approver": ann}})),
				local("a close", with(id, object{"close": true})),
			}
		},
		"execute": executions,
		"acceptAnswer": func(v *victims) []forgery {
			return []forgery{local("a made-up forgery", object{"invocationId": v.held.record.InvocationID, "tenantId": "acme", "activity": "execute", "answer": []byte("x")})}
		},
		"checkAttempt": func(v *victims) []forgery {
			return []forgery{
				local("a dispatch to come", object{"invocationId": v.waiting.record.InvocationID, "epoch": v.waiting.record.Epoch, "dispatch": 1}),
				local("the next of one that runs", object{"invocationId": v.held.record.InvocationID, "epoch": v.held.record.Epoch, "dispatch": 2}),
			}
		},
		"reconcile": func(v *victims) []forgery {
			facts := with(v.held.facts(), object{"toolId": toolOrder})
			return []forgery{
				{what: "of a call that runs", payload: plain(v.held.attempt(v.held.facts(), 1, permitOf(v.held.genuine.input))), outcomes: []string{"lost"}},
				{what: "of another tool", payload: plain(v.held.attempt(facts, 1, nil)), outcomes: []string{"lost"}},
			}
		},
		"settle": func(v *victims) []forgery {
			var found []forgery
			for _, one := range []victim{v.waiting, v.held, v.hooked, v.other} {
				found = append(found, local("of "+one.inv.ToolCallID, object{
					"invocationId": one.record.InvocationID, "tenantId": "acme", "epoch": one.record.Epoch, "holds": true,
					"result": object{"ok": true, "toolId": one.inv.ToolID, "toolCallId": one.inv.ToolCallID, "value": object{"text": madeUp}, "inputDigest": one.record.InputDigest},
				}))
			}
			return found
		},
		"agentOpen": func(*victims) []forgery { return []forgery{local("of a run", object{"input": []byte(`{}`)})} },
		"agentSay": func(*victims) []forgery {
			return []forgery{local("to a run", object{"run": agentRun, "message": object{"id": "m", "text": madeUp}})}
		},
		"agentAsk": func(*victims) []forgery {
			return []forgery{{what: "for a run", payload: plain(object{"run": agentRun, "round": 1})}}
		},
		"agentRound":  func(*victims) []forgery { return []forgery{local("of a run", object{"run": agentRun, "round": 1})} },
		"agentAnswer": func(*victims) []forgery { return []forgery{local("of a run", object{"run": agentRun, "round": 1})} },
		"agentClose":  func(*victims) []forgery { return []forgery{local("of a run", object{"run": agentRun, "round": 1})} },
		"agentJoin":   func(*victims) []forgery { return []forgery{upkeep("a run that there is not", object{"run": agentRun})} },
		"joinCall": func(v *victims) []forgery {
			inv := v.over.inv
			inv.Args = json.RawMessage(args(madeUp, ""))
			return []forgery{upkeep("with other arguments", object{"invocation": inv, "cancel": true})}
		},
		"triggerFire": func(*victims) []forgery {
			return []forgery{upkeep("by hand", object{"tenantId": "acme", "name": "nightly"})}
		},
		"sweepCalls": func(v *victims) []forgery {
			return []forgery{upkeep("of the neighbour", object{"namespace": v.namespace}), upkeep("of all", object{"namespace": ""})}
		},
		"keepPartitions": func(*victims) []forgery { return []forgery{upkeep("many", object{"ahead": 1000})} },
		"dropExpired":    func(*victims) []forgery { return []forgery{upkeep("all", object{"retentionDays": -1})} },
		"verifyClosed": func(*victims) []forgery {
			return []forgery{upkeep("from the beginning", object{"sinceMs": 0, "untilMs": time.Now().UnixMilli(), "namespace": "default"})}
		},
		"resealSecrets": func(*victims) []forgery {
			return []forgery{upkeep("with a key that nobody has", object{"keyId": 666, "from": object{"after": object{"tenantId": "zzz"}}})}
		},
	}
	for _, info := range hook.All() {
		all[string(info.Stage)] = stages(string(info.Stage))
	}
	return all
}

// agentRun is a run that the attacker makes up.
var agentRun = object{"tenantId": "acme", "runId": "run"}

func local(what string, input any) forgery { return forgery{what: what, payload: plain(input)} }

func upkeep(what string, input any) forgery {
	return forgery{what: what, payload: plain(input), anything: true}
}

// executions are attempts that nobody permitted.
func executions(v *victims) []forgery {
	facts := v.waiting.facts()
	of := func(tenant string) toolspec.Invocation {
		inv := call("forged-"+tenant, toolPay, args(madeUp, ""))
		inv.Context.TenantID = tenant
		return inv
	}
	forTenant := func(tenant string) object {
		inv := of(tenant)
		return with(facts, object{"invocationId": inv.Identity().InvocationID(), "toolCallId": inv.ToolCallID, "context": inv.Context, "args": inv.Args, "epoch": 1})
	}
	approval := object{"approvalId": v.approval.ApprovalID, "digest": v.approval.Digest, "approver": ann, "toolDigest": v.waiting.record.Plan.ToolDigest}
	others := with(facts, object{"args": json.RawMessage(args(madeUp, ""))})
	permit := permitOf(v.held.genuine.input)
	found := []forgery{
		{what: "without a claim, of a tenant that may use no tool", payload: plain(v.waiting.attempt(forTenant("barred"), 0, nil))},
		{what: "without a claim, of a tenant that there is not", payload: plain(v.waiting.attempt(forTenant("ghost"), 0, nil))},
		{what: "of a tenant that may use no tool", payload: plain(v.waiting.attempt(forTenant("barred"), 1, permit))},
		{what: "without a claim, of a call that waits", payload: plain(v.waiting.attempt(facts, 0, nil))},
		{what: "of a call that waits, with other arguments", payload: plain(v.waiting.attempt(others, 1, nil))},
		{what: "of a call that waits, with another call's permit", payload: plain(v.waiting.attempt(facts, 1, permit))},
		{what: "of a call that waits, as if approved", payload: plain(v.waiting.attempt(with(others, object{"approval": approval}), 1, permit))},
		{what: "the next of a call that runs", payload: plain(with(v.held.attempt(v.held.facts(), 2, permit), object{"answered": []object{{"dispatch": 1, "token": ""}}}))},
		{what: "a copy of one that runs", payload: v.held.genuine.input},
		{what: "a copy of one that is over", payload: v.over.genuine.input},
	}
	for i := range found {
		found[i].outcomes = []string{"unpermitted"}
	}
	return found
}

// stages are inputs of a stage: of calls that go on elsewhere, with the hooks of their plans, and with others.
func stages(name string) func(v *victims) []forgery {
	return func(v *victims) []forgery {
		var found []forgery
		for _, one := range []victim{v.waiting, v.hooked} {
			var planned []string
			if step, ok := one.record.Plan.Step(hook.Stage(name)); ok {
				planned = step.Hooks
			}
			for _, hooks := range [][]string{planned, {}, {durableHook}} {
				found = append(found, forgery{what: fmt.Sprintf("of %s with the hooks %q", one.inv.ToolCallID, hooks), payload: plain(one.stage(name, hooks)), outcomes: []string{"superseded"}})
			}
		}
		if name == "willAcquireQuota" {
			found = append(found, forgery{what: "a copy of one that runs", payload: v.hooked.genuine.input, outcomes: []string{"superseded"}})
		}
		return found
	}
}
