package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// Parked is the memory of a worker while Calls calls wait for a person.
type Parked struct {
	Calls int `json:"calls"`
	// RSSMB is the resident memory of the worker that has parked the calls, and RestartedMB of a worker that was started afterwards, in
	// MiB.
	RSSMB       float64 `json:"rss_mb"`
	RestartedMB float64 `json:"restarted_mb"`
	// RSSRatio and RestartedRatio compare with the smallest size.
	RSSRatio       float64 `json:"rss_ratio"`
	RestartedRatio float64 `json:"restarted_ratio"`
}

// Parking is the report of Park. DecidedMB is the memory of the worker that received all decisions. The times are from a decision to
// the result of its call.
type Parking struct {
	Server       string   `json:"server"`
	Sizes        []Parked `json:"sizes"`
	Parallel     int      `json:"parallel"`
	DecidedMB    float64  `json:"decided_mb"`
	DecidedRatio float64  `json:"decided_ratio"`
	P50Ms        float64  `json:"p50_ms"`
	P95Ms        float64  `json:"p95_ms"`
}

// parking is a measurement of Park that runs.
type parking struct {
	*stand
	o      Options
	pool   *pgxpool.Pool
	client *client.Client
	worker *exec.Cmd
	// ended is closed when the worker is gone.
	ended  chan struct{}
	stdin  io.Closer
	run    string
	probes int
}

// Park parks calls up to each of the sizes, in ascending order. The worker is a process of its own, and Park restarts it after each
// size. Then Park decides on all calls. It fails if a call is not decided exactly once.
func Park(ctx context.Context, o Options, sizes []int) (report *Parking, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	p := &parking{stand: s, o: o, run: fmt.Sprintf("%08x", rand.Uint32()), client: client.New(s.temporal, client.Options{})}
	if p.pool, err = pgxpool.New(ctx, s.stack.DatabaseURL()); err != nil {
		return nil, fmt.Errorf("bench: database: %w", err)
	}
	defer p.pool.Close()
	defer p.stop()
	if err := p.restart(ctx); err != nil {
		return nil, err
	}
	report = &Parking{Parallel: o.Parallel}
	have := 0
	for _, size := range sizes {
		o.Progress(fmt.Sprintf("parking up to %d calls", size))
		if err := p.park(ctx, have, size); err != nil {
			return nil, err
		}
		have = size
		one := Parked{Calls: size, RSSRatio: 1, RestartedRatio: 1}
		if one.RSSMB, err = residentMB(p.worker.Process.Pid); err != nil {
			return nil, err
		}
		if err := p.restart(ctx); err != nil {
			return nil, err
		}
		if one.RestartedMB, err = residentMB(p.worker.Process.Pid); err != nil {
			return nil, err
		}
		if len(report.Sizes) > 0 {
			one.RSSRatio, one.RestartedRatio = one.RSSMB/report.Sizes[0].RSSMB, one.RestartedMB/report.Sizes[0].RestartedMB
		}
		report.Sizes = append(report.Sizes, one)
	}
	o.Progress(fmt.Sprintf("deciding on %d calls", have))
	latencies, err := p.decide(ctx, have)
	if err != nil {
		return nil, err
	}
	if report.DecidedMB, err = residentMB(p.worker.Process.Pid); err != nil {
		return nil, err
	}
	report.DecidedRatio = report.DecidedMB / report.Sizes[0].RSSMB
	slices.Sort(latencies)
	report.P50Ms, report.P95Ms = ms(latencies[len(latencies)/2]), ms(latencies[len(latencies)*95/100])
	report.Server, err = serverOf(ctx, s, o)
	return report, err
}

// park starts the calls from have to size, and waits until all wait for a person.
func (p *parking) park(ctx context.Context, have, size int) error {
	err := atOnce(ctx, size-have, p.o.Parallel, func(ctx context.Context, i int) error {
		_, err := p.client.Start(ctx, p.call(askTool, "park", have+i))
		return err
	})
	if err != nil {
		return err
	}
	return p.until(ctx, fmt.Sprintf("%d calls wait", size), `SELECT count(*) = $2 FROM approvals WHERE tenant_id = $1 AND state = 'open'`, tenant, size)
}

// decide decides on all calls, many at once, and returns how long each took to its result.
func (p *parking) decide(ctx context.Context, calls int) ([]time.Duration, error) {
	latencies := make([]time.Duration, calls)
	err := atOnce(ctx, calls, p.o.Parallel, func(ctx context.Context, i int) error {
		identity := p.call(askTool, "park", i).Identity()
		began := time.Now()
		answer, err := p.client.Decide(ctx, identity.WorkflowID(), toolspec.Decision{
			ApprovalID: toolspec.ApprovalID(identity.InvocationID(), 1), Decision: toolspec.Approve, Approver: "user:bench",
		})
		if err != nil || !answer.Counted {
			return fmt.Errorf("%s: %+v, %w", identity.ToolCallID, answer, err)
		}
		var r toolspec.Result
		if err := p.temporal.GetWorkflow(ctx, identity.WorkflowID(), "").Get(ctx, &r); err != nil || !r.OK {
			return fmt.Errorf("%s ended with %q: %w", identity.ToolCallID, r.ErrorCode, err)
		}
		latencies[i] = time.Since(began)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return latencies, p.until(ctx, "each call was decided and made once", `
		SELECT count(*) = $2 AND sum(c.n) = $2 AND bool_and(c.n = 1) FROM (
			SELECT (SELECT count(*) FROM decisions d WHERE d.approval_id = a.approval_id AND d.counted) AS n
			FROM approvals a JOIN claims k USING (invocation_id) WHERE a.tenant_id = $1 AND a.state = 'approved' AND k.kind = 'claim'
		) c`, tenant, calls)
}

func (p *parking) until(ctx context.Context, what, sql string, values ...any) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		var holds bool
		if err := p.pool.QueryRow(ctx, sql, values...).Scan(&holds); err != nil || holds {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("bench: never: %s", what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (p *parking) call(toolID, kind string, i int) toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: toolID, ToolCallID: id(p.run+"-"+kind, i), Args: json.RawMessage(`{"text":"hello","times":1}`),
		Context: toolspec.Context{TenantID: tenant, RunID: runID, ActorID: actor},
	}
}

// restart stops the worker, if there is one, and starts another that takes calls when it returns.
func (p *parking) restart(ctx context.Context) error {
	p.stop()
	cmd := p.o.Worker()
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.worker, p.stdin, p.ended = cmd, in, make(chan struct{})
	ctx, dead := context.WithCancelCause(ctx)
	defer dead(nil)
	go func() {
		dead(fmt.Errorf("bench: the worker ended: %w", cmp.Or(cmd.Wait(), errors.New("exit status 0"))))
		close(p.ended)
	}()
	what := workOrder{Address: p.stack.TemporalAddress(), Namespace: p.stack.Namespace(), DatabaseURL: p.stack.DatabaseURL()}
	if err := json.NewEncoder(in).Encode(what); err != nil {
		return err
	}
	// The worker has done some work of every kind before its memory is read.
	for range warmUp {
		p.probes++
		if _, err := p.client.Invoke(ctx, p.call(sendTool, "probe", p.probes)); err != nil {
			return fmt.Errorf("bench: the worker takes no calls: %w", cmp.Or(context.Cause(ctx), err))
		}
	}
	return nil
}

func (p *parking) stop() {
	if p.worker == nil {
		return
	}
	_ = p.worker.Process.Signal(syscall.SIGTERM)
	_ = p.stdin.Close()
	<-p.ended
	p.worker = nil
}

// workOrder is the input of a worker process, in JSON on its standard input.
type workOrder struct {
	Address     string `json:"address"`
	Namespace   string `json:"namespace"`
	DatabaseURL string `json:"databaseUrl"`
}

// Work is the worker process: it reads its order and works until ctx ends.
func Work(ctx context.Context, in io.Reader) error {
	var what workOrder
	if err := json.NewDecoder(in).Decode(&what); err != nil {
		return fmt.Errorf("bench: order: %w", err)
	}
	workspace, err := os.MkdirTemp("", "pawl-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(workspace)
	return worker.Run(ctx, worker.Config{
		Temporal:    temporal.Options{HostPort: what.Address, Namespace: what.Namespace},
		DatabaseURL: what.DatabaseURL, Workspace: workspace, SearchAttributes: true,
		Log: slog.New(slog.DiscardHandler),
	}, options()...)
}
