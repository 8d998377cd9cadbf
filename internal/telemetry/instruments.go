package telemetry

import (
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/semconv/v1.37.0/genaiconv"
)

// Buckets of histograms, in seconds.
var (
	shortBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
	longBuckets  = []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600}
	humanBuckets = []float64{1, 10, 60, 300, 900, 3600, 14400, 86400, 604800}
	// These two are those of the semantic conventions for generative AI.
	modelBuckets = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBuckets = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// temporalView gives the histograms of Temporal's SDK buckets of seconds: the default ones are of milliseconds.
var temporalView = sdkmetric.NewView(
	sdkmetric.Instrument{Name: "temporal_*", Kind: sdkmetric.InstrumentKindHistogram},
	sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: shortBuckets}},
)

// Keys of labels.
const (
	keyTool    = attribute.Key("tool")
	keyEffect  = attribute.Key("effect")
	keyCode    = attribute.Key("code")
	keyOutcome = attribute.Key("outcome")
	keyStep    = attribute.Key("step")
	keyState   = attribute.Key("state")
	keyKind    = attribute.Key("kind")
	keyDigest  = attribute.Key("digest")
)

// instruments are the metrics of Pawl. docs/metrics.md describes them; a test compares the two.
type instruments struct {
	meter metric.Meter

	calls        metric.Int64Counter
	callTime     metric.Float64Histogram
	stepTime     metric.Float64Histogram
	stepFaults   metric.Int64Counter
	attempts     metric.Int64Counter
	attemptTime  metric.Float64Histogram
	claimsLost   metric.Int64Counter
	takeovers    metric.Int64Counter
	decisionTime metric.Float64Histogram
	waits        metric.Int64Counter
	waitTime     metric.Float64Histogram
	sweeps       metric.Int64Counter
	swept        metric.Int64Counter
	leases       metric.Int64Counter
	leaseTime    metric.Float64Histogram
	refreshes    metric.Int64Counter
	agentRuns    metric.Int64Counter
	agentRounds  metric.Int64Counter
	agentTokens  metric.Int64Counter
	modelTime    genaiconv.ClientOperationDuration
	modelTokens  genaiconv.ClientTokenUsage

	waiting    metric.Int64ObservableGauge
	waitingAge metric.Float64ObservableGauge
	policyInfo metric.Int64ObservableGauge
	poolConns  metric.Int64ObservableGauge
	poolMax    metric.Int64ObservableGauge
	poolWaits  metric.Int64ObservableCounter
	poolWaited metric.Float64ObservableCounter

	names []string
}

// maker makes instruments, and keeps the first error and all names.
type maker struct {
	metric.Meter
	names []string
	errs  []error
}

func kept[T any](m *maker, name string) func(T, error) T {
	m.names = append(m.names, name)
	return func(made T, err error) T {
		m.errs = append(m.errs, err)
		return made
	}
}

func (m *maker) counter(name, help string) metric.Int64Counter {
	return kept[metric.Int64Counter](m, name)(m.Int64Counter(name, metric.WithDescription(help)))
}

func (m *maker) seconds(name, help string, buckets []float64) metric.Float64Histogram {
	return kept[metric.Float64Histogram](m, name)(m.Float64Histogram(name, metric.WithDescription(help), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(buckets...)))
}

func (m *maker) gauge(name, help string) metric.Int64ObservableGauge {
	return kept[metric.Int64ObservableGauge](m, name)(m.Int64ObservableGauge(name, metric.WithDescription(help)))
}

func newInstruments(meter metric.Meter) (instruments, error) {
	m := &maker{Meter: meter}
	i := instruments{
		meter: meter,

		calls:        m.counter("pawl.calls", "Calls that this worker has settled."),
		callTime:     m.seconds("pawl.call.duration", "Time from the start of a call to its end, with all waits.", longBuckets),
		stepTime:     m.seconds("pawl.step.duration", "Time of one run of a stage or of a step of Pawl's own.", shortBuckets),
		stepFaults:   m.counter("pawl.step.failures", "Runs of stages and steps that gave no answer."),
		attempts:     m.counter("pawl.attempts", "Attempts that this worker has answered."),
		attemptTime:  m.seconds("pawl.attempt.duration", "Time of one attempt, with the lease of its connection.", longBuckets),
		claimsLost:   m.counter("pawl.claims.lost", "Attempts that began and never answered."),
		takeovers:    m.counter("pawl.takeovers", "Calls that another run of their workflow had begun."),
		decisionTime: m.seconds("pawl.approval.decision.duration", "Time from an approval request to its end.", humanBuckets),
		waits:        m.counter("pawl.capacity.waits", "Answers of stages that a call must wait for capacity."),
		waitTime:     m.seconds("pawl.capacity.wait.duration", "Time for which a settled call has waited for capacity.", longBuckets),
		sweeps:       m.counter("pawl.sweeps", "Runs of the sweeper."),
		swept:        m.counter("pawl.swept", "Calls that the sweeper has settled."),
		leases:       m.counter("pawl.broker.leases", "Connections that attempts have asked for."),
		leaseTime:    m.seconds("pawl.broker.lease.duration", "Time of one lease of a connection, with a refresh of its token.", shortBuckets),
		refreshes:    m.counter("pawl.broker.refreshes", "Refreshes of tokens."),
		agentRuns:    m.counter("pawl.agent.runs", "Runs of agents that have ended."),
		agentRounds:  m.counter("pawl.agent.rounds", "Responses of models to runs of agents."),
		agentTokens:  m.counter("pawl.agent.tokens", "Tokens of runs of agents that have ended."),

		waiting:    m.gauge("pawl.waiting", "What waits, of all workers."),
		policyInfo: m.gauge("pawl.policy.active", "The policy that this worker has seen last as the active one."),
		poolConns:  m.gauge("pawl.db.pool.connections", "Connections to the database."),
		poolMax:    m.gauge("pawl.db.pool.max", "Most connections to the database."),
	}
	i.waitingAge = kept[metric.Float64ObservableGauge](m, "pawl.waiting.age")(
		m.Float64ObservableGauge("pawl.waiting.age", metric.WithDescription("Age of the oldest that waits."), metric.WithUnit("s")))
	i.poolWaits = kept[metric.Int64ObservableCounter](m, "pawl.db.pool.waits")(
		m.Int64ObservableCounter("pawl.db.pool.waits", metric.WithDescription("Statements that waited for a connection.")))
	i.poolWaited = kept[metric.Float64ObservableCounter](m, "pawl.db.pool.wait.duration")(
		m.Float64ObservableCounter("pawl.db.pool.wait.duration", metric.WithDescription("Time that statements waited for a connection."), metric.WithUnit("s")))
	i.modelTime = kept[genaiconv.ClientOperationDuration](m, i.modelTime.Name())(
		genaiconv.NewClientOperationDuration(meter, metric.WithExplicitBucketBoundaries(modelBuckets...)))
	i.modelTokens = kept[genaiconv.ClientTokenUsage](m, i.modelTokens.Name())(
		genaiconv.NewClientTokenUsage(meter, metric.WithExplicitBucketBoundaries(tokenBuckets...)))
	i.names = m.names
	return i, errors.Join(m.errs...)
}

// Names returns the names of all metrics of Pawl.
func Names() []string {
	i, err := newInstruments(metricnoop.NewMeterProvider().Meter(scope))
	if err != nil {
		return nil
	}
	return append(i.names, checkName)
}
