package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Grown is how long a read takes when the record holds this number of calls.
type Grown struct {
	Invocations int     `json:"invocations"`
	P50Ms       float64 `json:"p50_ms"`
	P50Ratio    float64 `json:"p50_ratio"`
	P95Ms       float64 `json:"p95_ms"`
}

// Growth is the report of Grow. Ratios compare with the smallest size in the same run. A round cannot measure all sizes, because a
// record does not shrink.
type Growth struct {
	Server string  `json:"server"`
	Sizes  []Grown `json:"sizes"`
}

// fillBatch is how many calls one statement writes.
const fillBatch = 10_000

// fill writes settled calls as they stand in the record after a read: with stages, an attempt and an audit event each. The ids are
// derived, as the table demands.
const fill = `
WITH calls AS (
	INSERT INTO invocations (invocation_id, tenant_id, run_id, tool_call_id, tool_id, actor_id, workflow_id, temporal_run_id, namespace,
		state, input_digest, plan, result, ok, safe_args, attempts, started_at, settled_at, created_at)
	SELECT encode(set_byte(set_byte(h, 6, get_byte(h, 6) & 15 | 128), 8, get_byte(h, 8) & 63 | 128), 'hex')::uuid,
		$1, 'fill', call, 'bench__read', 'agent:bench', 'tool:' || $1 || ':fill:' || call, gen_random_uuid()::text, 'default',
		'settled', encode(sha256(call::bytea), 'hex'), '{"v":1}', '{"ok":true,"value":{"text":"hello"}}', true, '{"text":"hello","times":1}', 1, at, at, at
	FROM (
		SELECT 'c' || i AS call, now() - i * interval '1 second' / 20 AS at,
			substring(sha256(convert_to($1, 'UTF8') || '\x00'::bytea || 'fill'::bytea || '\x00'::bytea || ('c' || i)::bytea) FROM 1 FOR 16) AS h
		FROM generate_series($2::bigint, $3::bigint) i
	) n
	RETURNING month, invocation_id, workflow_id, created_at
), staged AS (
	INSERT INTO stage_events (month, invocation_id, seq, stage, round, attempt, outcome, by_hook, rule, at, duration_us)
	SELECT month, invocation_id, s.seq, s.stage, 1, 0, 'ok', '', '', created_at, 100
	FROM calls, (VALUES (1, 'willAuthorize'), (2, 'hydrate'), (3, 'willCheckConsent'), (4, 'execute'), (5, 'willAudit')) s (seq, stage)
), tried AS (
	INSERT INTO attempts (month, invocation_id, seq, attempt, dispatch, lane, outcome, code, at, duration_us)
	SELECT month, invocation_id, 1, 1, 0, 'local', 'ok', '', created_at, 100 FROM calls
)
INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, audit_id, seq)
SELECT month, 'call', $1, invocation_id, workflow_id, invocation_id || '.a1', 1 FROM calls`

// Grow measures a read while the record grows to each of the sizes, in ascending order. The database is filled by SQL.
func Grow(ctx context.Context, o Options, sizes []int) (*Growth, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s, err := setUp(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	pool, err := pgxpool.New(ctx, s.stack.DatabaseURL())
	if err != nil {
		return nil, fmt.Errorf("bench: database: %w", err)
	}
	defer pool.Close()
	run := fmt.Sprintf("%08x", rand.Uint32())
	read := kase{name: "read_only", run: byPawl(readTool, ""), workflowID: workflowID}
	for i := range warmUp {
		if err := read.run(ctx, s, id(run+"-warm", i)); err != nil {
			return nil, err
		}
	}
	report, have := &Growth{}, 0
	for _, size := range sizes {
		o.Progress(fmt.Sprintf("filling the record up to %d calls", size))
		for ; have < size; have += fillBatch {
			if _, err := pool.Exec(ctx, fill, tenant, have+1, min(have+fillBatch, size)); err != nil {
				return nil, fmt.Errorf("bench: fill: %w", err)
			}
		}
		have = size
		if _, err := pool.Exec(ctx, `VACUUM ANALYZE`); err != nil {
			return nil, fmt.Errorf("bench: vacuum: %w", err)
		}
		o.Progress(fmt.Sprintf("measuring at %d calls", size))
		var rounds []sample
		for round := range o.Rounds {
			m, err := measure(ctx, s, read, o, fmt.Sprintf("%s-%d-%d", run, size, round))
			if err != nil {
				return nil, err
			}
			rounds = append(rounds, m)
		}
		f := figure(read, rounds, rounds)
		g := Grown{Invocations: size, P50Ms: f.P50Ms, P95Ms: f.P95Ms, P50Ratio: 1}
		if len(report.Sizes) > 0 {
			g.P50Ratio = g.P50Ms / report.Sizes[0].P50Ms
		}
		report.Sizes = append(report.Sizes, g)
	}
	report.Server, err = serverOf(ctx, s, o)
	return report, err
}
