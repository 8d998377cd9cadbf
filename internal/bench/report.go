package bench

import (
	"cmp"
	"slices"
	"time"
)

// Report is what a run measured. A ratio compares with the case `bare` of the same round. The report has the
// median of the rounds.
type Report struct {
	// Server says what was measured on.
	Server string   `json:"server"`
	Rounds int      `json:"rounds"`
	Cases  []Figure `json:"cases"`
}

// Figure is one case.
type Figure struct {
	Name  string `json:"name"`
	about string
	// ThroughputPerS is under load, P50Ms to MaxMs are of one call after the other.
	ThroughputPerS  float64 `json:"throughput_per_s"`
	ThroughputRatio float64 `json:"throughput_ratio"`
	P50Ms           float64 `json:"p50_ms"`
	P50Ratio        float64 `json:"p50_ratio"`
	P95Ms           float64 `json:"p95_ms"`
	MaxMs           float64 `json:"max_ms"`
	// HistoryEvents, HistoryBytes and StateTransitions are what the server says about a call.
	HistoryEvents    int64 `json:"history_events"`
	HistoryBytes     int64 `json:"history_bytes"`
	StateTransitions int64 `json:"state_transitions"`
	// Actions is how many actions of Temporal Cloud the history holds.
	Actions int64 `json:"actions"`
	// SQLStatements are round trips to the database.
	SQLStatements int64 `json:"sql_statements"`
	// CPUMs is the processor time of submitter and worker under load, and Allocs counts their allocations. The
	// servers are not included.
	CPUMs  float64 `json:"cpu_ms"`
	Allocs uint64  `json:"allocs"`
}

// About says in a few words what the case is.
func (f Figure) About() string { return f.about }

// figure sums up the rounds of a case beside those of bare.
func figure(k kase, rounds, bares []sample) Figure {
	last := rounds[len(rounds)-1]
	f := Figure{
		Name: k.name, about: k.about,
		HistoryEvents: last.cost.events, HistoryBytes: last.cost.bytes, StateTransitions: last.cost.transitions, Actions: last.cost.actions,
	}
	var throughputs, throughputRatios, p50s, p50Ratios, p95s, cpus []float64
	var trips []int64
	var allocs []uint64
	for i, r := range rounds {
		p50, p95 := quantile(r.latencies, 0.5), quantile(r.latencies, 0.95)
		throughputs, p50s, p95s = append(throughputs, r.throughput), append(p50s, ms(p50)), append(p95s, ms(p95))
		throughputRatios = append(throughputRatios, r.throughput/bares[i].throughput)
		p50Ratios = append(p50Ratios, float64(p50)/float64(quantile(bares[i].latencies, 0.5)))
		f.MaxMs = max(f.MaxMs, ms(slices.Max(r.latencies)))
		trips, cpus, allocs = append(trips, median(r.trips)), append(cpus, ms(r.cpu)), append(allocs, r.allocs)
	}
	f.ThroughputPerS, f.ThroughputRatio = median(throughputs), median(throughputRatios)
	f.P50Ms, f.P50Ratio, f.P95Ms = median(p50s), median(p50Ratios), median(p95s)
	f.SQLStatements, f.CPUMs, f.Allocs = median(trips), median(cpus), median(allocs)
	return f
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median returns the middle value, or the larger of the two middle values.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// quantile returns the q-quantile of the values: a share q of them, between 0 and 1, is smaller or equal.
func quantile(values []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
