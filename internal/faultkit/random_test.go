//go:build unix

package faultkit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// The size of TestRandomKills.
const (
	randomKills = 10 // and two more
	// callTimeout bounds a call whose workers are killed several times. Each kill costs eight
	// seconds or more.
	callTimeout = 5 * time.Minute
)

// seedEnv is the seed of a run of TestRandomKills: equal seeds give equal calls and points. The timing differs.
const seedEnv = "PAWL_SEED"

// TestRandomKills: two workers are killed repeatedly at random points while streams of calls of every kind run.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	needsKills(t)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
	}
	t.Logf("%s=%d", seedEnv, seed)
	m := &mix{world: newWorld(t), random: rand.New(rand.NewPCG(seed, 0))}
	m.run()
	m.judge()
	if t.Failed() {
		t.Logf("again with %s=%d", seedEnv, seed)
	}
}

// mix is a world with streams of calls.
type mix struct {
	*world
	random *rand.Rand // for the kills; each stream has its own
	kills  int

	mu    sync.Mutex
	calls []*pawl.Call
	ended []toolspec.Result // in the order of calls
}

// streams returns the tools of the streams, which run in parallel. Only one stream uses tools that must not be repeated, so one kill hits
// at most one such call.
func streams() [][]string {
	return [][]string{
		{ledger.LocalRead}, {ledger.Read}, {ledger.Put}, {ledger.LocalRead, ledger.Read, ledger.Put, ledger.QuickPut}, {ledger.Send, ledger.Ask, ledger.Quick},
	}
}

// run kills workers, randomKills times and two more, and then lets all calls end.
func (m *mix) run() {
	m.t.Helper()
	doomed := []*child{m.work(m.plan()), m.work(m.plan())}
	stop := make(chan struct{})
	var running, approving sync.WaitGroup
	for n, kinds := range streams() {
		random := rand.New(rand.NewPCG(m.random.Uint64(), uint64(n)))
		running.Go(func() { m.stream(n, kinds, random, stop) })
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	approving.Go(func() { m.approveAll(ctx) })
	defer approving.Wait()
	defer cancel()
	defer running.Wait()
	defer close(stop)
	for m.kills < randomKills {
		m.until(func() bool { return doomed[0].dead() || doomed[1].dead() },
			fmt.Sprintf("a worker dies at %s or %s: the points were not reached", doomed[0].plan.At, doomed[1].plan.At))
		for i, c := range doomed {
			if c.dead() {
				c.crashed()
				m.kills++
				doomed[i] = m.work(m.plan())
			}
		}
	}
	// The last two workers may not have reached their points. They are killed too, and a healthy
	// worker ends the calls that are left.
	m.work(healthy)
	for _, c := range doomed {
		c.kill()
		m.kills++
	}
}

func (m *mix) plan() failpoint.Plan {
	points := point.All()
	return failpoint.Plan{At: points[m.random.IntN(len(points))], Nth: 1 + m.random.IntN(3), By: failpoint.Kill}
}

// stream makes one call after the other until stop is closed.
func (m *mix) stream(n int, kinds []string, random *rand.Rand, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		in := ledger.In{Text: fmt.Sprint(random.Uint32()), BeforeMs: random.IntN(50), AfterMs: random.IntN(50)}
		call, err := m.pawl.Start(m.t.Context(), invocation(fmt.Sprintf("call-%d-%d", n, i), kinds[random.IntN(len(kinds))], in))
		var result toolspec.Result
		if err != nil {
			m.t.Errorf("call %d of stream %d: %v", i, n, err)
			return
		}
		if result, err = m.world.ended(call, callTimeout); err != nil {
			m.t.Errorf("call %d of stream %d: %v\n%s", i, n, err, m.timeline(call.WorkflowID))
			return
		}
		m.mu.Lock()
		m.calls, m.ended = append(m.calls, call), append(m.ended, result)
		m.mu.Unlock()
	}
}

// approveAll approves all requests, alternately by signal and by update.
func (m *mix) approveAll(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	decided := map[string]bool{}
	var updates sync.WaitGroup
	defer updates.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		open, err := m.store.Approvals(ctx, pawl.ApprovalFilter{TenantID: "acme"})
		if err != nil {
			continue
		}
		for _, a := range open {
			if decided[a.ApprovalID] {
				continue
			}
			d := toolspec.Decision{ApprovalID: a.ApprovalID, Decision: toolspec.Approve, Approver: "user:ann"}
			if len(decided)%2 == 0 {
				decided[a.ApprovalID] = m.temporal.SignalWorkflow(ctx, a.WorkflowID, "", toolspec.DecideName, d) == nil
				continue
			}
			decided[a.ApprovalID] = true
			updates.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, waitTimeout)
				defer cancel()
				answer, err := m.pawl.Decide(ctx, a.WorkflowID, d)
				for errors.Is(err, pawl.ErrNotConfirmed) && ctx.Err() == nil {
					answer, err = m.pawl.Decide(ctx, a.WorkflowID, d)
				}
				// A worker may be killed before it answers, and the call may settle before the
				// decision is sent again.
				if ctx.Err() == nil && (err != nil || !answer.Counted) && (!errors.Is(err, pawl.ErrSettled) || !m.isRecorded(ctx, a.InvocationID, d)) {
					m.t.Errorf("the approval of %s: %+v, %v", a.WorkflowID, answer, err)
				}
			})
		}
	}
}

// isRecorded reports whether the record holds the decision as the approval of the call.
func (m *mix) isRecorded(ctx context.Context, invocationID string, d toolspec.Decision) bool {
	record, err := m.store.Show(ctx, "acme", invocationID)
	if err != nil {
		m.t.Error(err)
	}
	return slices.ContainsFunc(record.Approvals, func(a reads.Approval) bool {
		return a.ApprovalID == d.ApprovalID && a.State == contract.RequestApproved && a.Approver == d.Approver
	})
}

// judge checks what must hold for every call, and for all calls together.
func (m *mix) judge() {
	m.t.Helper()
	ok, unknown, effects := 0, 0, 0
	for i, call := range m.calls {
		e := m.evidence(call, m.ended[i])
		m.agrees(e)
		effects += len(e.effects)
		switch {
		case e.result.OK:
			ok++
		case e.result.ErrorCode == toolspec.CodeOutcomeUnknown:
			unknown++
		default:
			m.t.Errorf("%s ended with %+v", call.WorkflowID, e.result)
		}
		// A local read has at most one effect per attempt and per lost task.
		if e.record.ToolID == ledger.LocalRead && len(e.effects) > max(e.result.Attempts, 1)+e.tasks.lostTasks {
			m.t.Errorf("%s: %d effects with %s", call.WorkflowID, len(e.effects), e.tasks)
		}
	}
	if all := len(m.ledger.Effects()); all != effects {
		m.t.Errorf("the ledger has %d effects, %d of them of calls that ended", all, effects)
	}
	m.t.Logf("%d kills, %d calls: %d ok, %d unknown; %d effects", m.kills, len(m.calls), ok, unknown, effects)
	if unknown > m.kills {
		m.t.Errorf("%d outcomes are unknown after %d kills", unknown, m.kills)
	}
	if m.kills < randomKills || 10*ok < 6*len(m.calls) || len(m.calls) < randomKills {
		m.t.Errorf("the run is void: %d kills, %d of %d calls ok", m.kills, ok, len(m.calls))
	}
}
