package attack

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// madeUp stands in what the attacker would like to be a result, and in arguments that nobody has allowed.
const madeUp = "made up"

// target is something that a worker registers.
type target struct{ kind, name string }

// The kinds of targets.
const (
	activities    = "activity"
	workflowTypes = "workflow type"
	signals       = "signal"
	updates       = "update"
	queries       = "query"
)

// attack is a case.
type attack struct {
	target
	what string
	run  func(t *testing.T, w *world)
}

// attacks are all cases but those of forgeries.
func attacks() []attack {
	return slices.Concat(answerAttacks(), permitAttacks(), workflowAttacks(), messageAttacks(), holeAttacks())
}

// TestAttack: access to the namespace alone, without answering workflow tasks, runs nothing and settles nothing. All cases run against
// payloads in clear, and against sealed ones where plain ones are still read.
func TestAttack(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"clear", "sealed"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mode == "sealed")
			if mode == "clear" { // the messages that name the registry would be sealed too
				t.Run("registry", func(t *testing.T) { everythingHasACase(t, w) })
			}
			t.Run("tasks", func(t *testing.T) { forgedTasks(t, w) })
			for _, a := range attacks() {
				t.Run(strings.Join([]string{a.kind, a.name, a.what}, "/"), func(t *testing.T) {
					t.Parallel()
					a.run(t, w)
				})
			}
		})
	}
}

// everythingHasACase asks the running worker what it registers: it tells whoever uses a name that it does not know.
func everythingHasACase(t *testing.T, w *world) {
	covered := map[target]bool{}
	for name := range forgeries() {
		covered[target{activities, name}] = true
	}
	for _, a := range attacks() {
		covered[a.target] = true
	}
	registered := w.attacker.registry(t, w)
	for _, r := range registered {
		if !covered[r] {
			t.Errorf("the worker registers the %s %q, which no case attacks: add one", r.kind, r.name)
		}
		delete(covered, r)
	}
	for left := range covered {
		t.Errorf("a case attacks the %s %q, which the worker does not register", left.kind, left.name)
	}
}

// forgedTasks schedules every activity with inputs of the attacker's, from his own workflow and outside of any. No row of the database
// changes by it, no tool runs, and all of them are turned down.
func forgedTasks(t *testing.T, w *world) {
	neighbour := w.neighbour(t)
	v := w.victims(t, neighbour)
	rows, effects := w.rows(t), w.effects.all()

	var tasks []task
	var forged []forgery
	for name, inputs := range forgeries() {
		for _, f := range inputs(v) {
			f.what = name + " " + f.what
			tasks, forged = append(tasks, task{name, f.payload}), append(forged, f)
		}
	}
	for i, a := range w.attacker.schedule(t, anyID(), tasks...) {
		w.turnedDown(t, forged[i], a)
	}
	w.outsideOfWorkflows(t, tasks)

	if got := w.effects.all(); !slices.Equal(got, effects) {
		t.Errorf("tools ran: %+v", got[len(effects):])
	}
	if got := neighbour.effects.all(); len(got) > 0 {
		t.Errorf("tools of the neighbour ran: %+v", got)
	}
	after := w.rows(t)
	missing(t, "new or changed", after, rows)
	missing(t, "deleted or changed", rows, after)

	// The calls go on as if nothing had been.
	w.effects.release(inTool("held"))
	w.effects.release(inHook("hooked"))
	w.approve(t, v.waiting.inv.Identity().WorkflowID(), v.approval)
	for _, one := range []victim{v.waiting, v.held, v.hooked} {
		w.endsRightly(t, one.inv)
	}
}

// missing fails for every row that is not among the others.
func missing(t *testing.T, what string, rows, others []string) {
	t.Helper()
	for _, row := range rows {
		if !slices.Contains(others, row) {
			t.Errorf("a row is %s: %s", what, row)
		}
	}
}

// turnedDown fails unless a task came to what a forgery may come to.
func (w *world) turnedDown(t *testing.T, f forgery, a answer) {
	t.Helper()
	switch {
	case f.anything:
	case a.err == nil && len(f.outcomes) == 0:
		t.Errorf("%s: a step answers to a task of the server: %s", f.what, w.clear(a))
	case a.err == nil:
		var out struct {
			Outcome string `json:"outcome"`
		}
		if err := w.data.FromPayload(a.payload, &out); err != nil || !slices.Contains(f.outcomes, out.Outcome) {
			t.Errorf("%s: the answer is %s (%v), want one of %q", f.what, w.clear(a), err, f.outcomes)
		}
	}
}

// clear is an answer as text.
func (w *world) clear(a answer) string {
	var text map[string]any
	if err := w.data.FromPayload(a.payload, &text); err != nil {
		return err.Error()
	}
	return w.data.ToString(a.payload)
}

// outsideOfWorkflows schedules the tasks with the API of standalone activities, where the server has it.
func (w *world) outsideOfWorkflows(t *testing.T, tasks []task) {
	t.Helper()
	for _, one := range tasks {
		ctx, cancel := soon(t)
		handle, err := w.attacker.client.ExecuteActivity(ctx, client.StartActivityOptions{
			ID: anyID(), TaskQueue: victimQueue, StartToCloseTimeout: 10 * time.Second,
		}, one.activity, converter.NewRawValue(one.payload))
		var unimplemented *serviceerror.Unimplemented
		if errors.As(err, &unimplemented) {
			cancel()
			t.Logf("the server runs no activities outside of workflows: %v", err)
			return
		}
		if err == nil {
			err = handle.Get(ctx, nil)
		}
		cancel()
		t.Logf("%s outside of a workflow: %v", one.activity, err)
	}
}
