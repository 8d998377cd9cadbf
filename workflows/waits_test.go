package workflows_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// lacking is a source that lacks the tool in some lookups. The number of such a lookup, from 1,
// is at least from and less than to.
type lacking struct {
	judge.Source
	looks, from, to atomic.Int64
}

func (l *lacking) Get(toolID string) (*catalog.Bound, bool) {
	if n := l.looks.Add(1); n >= l.from.Load() && n < l.to.Load() {
		return nil, false
	}
	return l.Source.Get(toolID)
}

func (l *lacking) Find(toolID, _ string) (*catalog.Bound, bool) { return l.Get(toolID) }

func lacks(from, to int64) func(judge.Source) judge.Source {
	return func(s judge.Source) judge.Source {
		l := &lacking{Source: s}
		l.from.Store(from)
		l.to.Store(to)
		return l
	}
}

const never = 1 << 40

// TestMissingTool: a call waits for a worker that has its tool, until its deadline. The waits double
// from 1 s to 30 s. The lookups are, in order, of admit, hydrate and execute.
func TestMissingTool(t *testing.T) {
	for _, tc := range []struct {
		name     string
		tool     string
		from, to int64
		cancel   time.Duration
		code     toolspec.Code
		took     time.Duration
		attempts int
	}{
		{name: "at hydrate, for a while", tool: "core__read", from: 2, to: 5, took: 7 * time.Second, attempts: 1},
		{name: "at execute, for a while", tool: "core__remote", from: 3, to: 6, took: 7 * time.Second, attempts: 1},
		{name: "at execute, for a while, local", tool: "core__read", from: 3, to: 6, took: 7 * time.Second, attempts: 1},
		{name: "at execute of what may not be repeated", tool: "core__mail", from: 3, to: 4, took: time.Second, attempts: 1},
		{name: "at hydrate, for good", tool: "core__read", from: 2, to: never, code: toolspec.CodeUnavailable, took: 15 * time.Minute},
		{name: "at execute, for good", tool: "core__remote", from: 3, to: never, code: toolspec.CodeUnavailable, took: 16 * time.Minute},
		{name: "cancelled at hydrate", tool: "core__read", from: 2, to: never, cancel: time.Minute, code: toolspec.CodeCancelled, took: time.Minute},
		{name: "cancelled at execute", tool: "core__remote", from: 3, to: never, cancel: time.Minute, code: toolspec.CodeCancelled, took: time.Minute},
		{name: "cancelled at execute, local", tool: "core__read", from: 3, to: never, cancel: time.Minute, code: toolspec.CodeCancelled, took: time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy, source: lacks(tc.from, tc.to)})
			if tc.cancel > 0 {
				r.env.RegisterDelayedCallback(r.env.CancelWorkflow, tc.cancel)
			}
			result := r.run(call(tc.tool, args))
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if result.ErrorCode != tc.code || result.Attempts != tc.attempts || took < tc.took-time.Minute/2 || took > tc.took+time.Minute/2 {
				t.Errorf("got %+v after %s, want %q after %s", result, took, tc.code, tc.took)
			}
			if tc.code == "" && (took < tc.took || took > tc.took+time.Second/2) {
				t.Errorf("took %s, want %s", took, tc.took)
			}
		})
	}
}

// TestMissingHook: a call waits for a worker that has the hooks of its plan at closed stages. Without
// a hook at a logged stage, the call continues and the record has a note.
func TestMissingHook(t *testing.T) {
	gone := func(list *[]hook.Step, s hook.Stage, p hook.Phase) {
		for i, step := range *list {
			if step.Stage == s {
				(*list)[i].Hooks = slices.Concat(step.Hooks, []string{"gone"})
				return
			}
		}
		*list = append(*list, hook.Step{Stage: s, Phase: p, Hooks: []string{"gone"}})
	}
	for _, tc := range []struct {
		name string
		tool string
		plan func(*hook.Plan)
		code toolspec.Code
		note string
		runs int
	}{
		{"closed", "core__read", func(p *hook.Plan) { gone(&p.Pre, hook.WillAuthorize.Stage(), hook.PhaseGate) }, toolspec.CodeUnavailable, "", 0},
		{"around execute", "core__read", func(p *hook.Plan) { gone(&p.Execute, hook.AroundExecute.Stage(), hook.PhaseExecute) }, toolspec.CodeUnavailable, "", 0},
		{"after execute", "core__remote", func(p *hook.Plan) { gone(&p.Execute, hook.DidExecute.Stage(), hook.PhaseExecute) }, toolspec.CodeUnavailable, "", 0},
		{"after what may not be repeated", "core__mail", func(p *hook.Plan) { gone(&p.Execute, hook.DidExecute.Stage(), hook.PhaseExecute) }, toolspec.CodeUnavailable, "", 0},
		{"logged", "core__read", func(p *hook.Plan) { gone(&p.Post, hook.WillAudit.Stage(), hook.PhaseAudit) }, "", "willAudit", 1},
		{"logged, of the output", "core__read", func(p *hook.Plan) {
			p.Post = append([]hook.Step{{Stage: hook.WillWriteCache.Stage(), Phase: hook.PhaseOutput, Hooks: []string{"gone"}}}, p.Post...)
		}, "", "willWriteCache", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy})
			r.records.plan = tc.plan
			result := r.run(call(tc.tool, args))
			if result.ErrorCode != tc.code || r.ran() != tc.runs {
				t.Errorf("got %+v after %d runs, want %q", result, r.ran(), tc.code)
			}
			if tc.code != "" && time.Duration(result.EndedAtMs-result.StartedAtMs)*time.Millisecond < 14*time.Minute {
				t.Errorf("it did not wait: %+v", result)
			}
			note := ""
			for _, e := range r.records.settled[0].Stages {
				for _, n := range e.Notes {
					note += e.Stage
					if n.Hook != "gone" || n.Reason != "this worker does not have the hook" {
						t.Errorf("note %+v", n)
					}
				}
			}
			if note != tc.note {
				t.Errorf("notes at %q, want %q", note, tc.note)
			}
			if len(r.records.claims) != 0 && tc.code != "" {
				t.Error("an attempt that could not run was claimed")
			}
		})
	}
}

// TestLoggedOutputStageFailsNothing: no error of a hook at willWriteCache fails the call, not even a
// transient error that never passes.
func TestLoggedOutputStageFailsNothing(t *testing.T) {
	for name, f := range map[string]func(context.Context, *hook.Keep) error{
		"error":     func(context.Context, *hook.Keep) error { return errPlain },
		"transient": func(context.Context, *hook.Keep) error { return errs.Transient(errPlain) },
		"panic":     func(context.Context, *hook.Keep) error { panic("canary") },
	} {
		short := "version: 1\ntenants: {acme: {allowedTools: [\"core__*\"], mode: yolo, budgets: {deadlineMs: 60000}}}\n"
		r := newRig(t, rigOptions{policy: short, hooks: []hook.Hook{hook.New("h", hook.WillWriteCache.Do(f))}})
		if result := r.run(call("core__read", args)); !result.OK || string(result.Value) != `{"text":"hello"}` {
			t.Errorf("%s: got %+v", name, result)
		}
	}
}
