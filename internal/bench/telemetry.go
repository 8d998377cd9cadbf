package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"time"
)

// receiveTelemetry starts an OTLP receiver on a loopback address, which drops the data that it gets. Workers that the stand
// starts later send to it: receiveTelemetry sets OTEL_EXPORTER_OTLP_ENDPOINT of this process. The stand stops the receiver.
func (s *stand) receiveTelemetry(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("bench: receiver of telemetry: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	s.onClose(func() {
		_ = server.Close()
		<-done
	})
	s.telemetry = true
	return os.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
}

// TelemetryReport compares workers with and without telemetry in one run.
type TelemetryReport struct {
	// Server says what was measured on.
	Server string            `json:"server"`
	Rounds int               `json:"rounds"`
	Cases  []TelemetryFigure `json:"cases"`
}

// TelemetryFigure is a case under load. Of rounds the median counts.
type TelemetryFigure struct {
	Name string `json:"name"`
	// OffPerS and OnPerS are calls per second without telemetry and with it, and Ratio is the second by the first of the same round.
	OffPerS float64 `json:"off_per_s"`
	OnPerS  float64 `json:"on_per_s"`
	Ratio   float64 `json:"ratio"`
	// OffCPUMs and OnCPUMs are processor time of a call in this process, in milliseconds.
	OffCPUMs float64 `json:"off_cpu_ms"`
	OnCPUMs  float64 `json:"on_cpu_ms"`
	// Goal is the least Ratio that the project wants.
	Goal float64 `json:"goal"`
}

// telemetryGoals are the cases of Telemetry with their goals.
var telemetryGoals = []TelemetryFigure{{Name: "read_only", Goal: 0.95}, {Name: "external_side_effect", Goal: 0.97}}

// Telemetry measures reads and writes on a worker without telemetry, and on one that serves metrics and sends metrics and every trace. Both
// run on the same servers in turn, and each is the first in every other round.
func Telemetry(ctx context.Context, o Options) (*TelemetryReport, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.workspace, err = os.MkdirTemp("", "pawl-bench-"); err != nil {
		return nil, err
	}
	s.onClose(func() { _ = os.RemoveAll(s.workspace) })
	if err := s.receiveTelemetry(ctx); err != nil {
		return nil, err
	}
	samples := map[bool]map[string][]sample{false: {}, true: {}}
	run := fmt.Sprintf("%08x", rand.Uint32())
	for round := range o.Rounds {
		for _, on := range []bool{round%2 == 1, round%2 == 0} {
			o.Progress(fmt.Sprintf("round %d of %d: telemetry is on: %t", round+1, o.Rounds, on))
			if err := s.measureTelemetry(ctx, o, on, fmt.Sprintf("%s-%d-%t", run, round, on), samples[on]); err != nil {
				return nil, err
			}
		}
	}
	report := &TelemetryReport{Rounds: o.Rounds}
	for _, f := range telemetryGoals {
		var off, on, ratios, offCPU, onCPU []float64
		for i, without := range samples[false][f.Name] {
			with := samples[true][f.Name][i]
			off, on, ratios = append(off, without.throughput), append(on, with.throughput), append(ratios, with.throughput/without.throughput)
			offCPU, onCPU = append(offCPU, ms(without.cpu)), append(onCPU, ms(with.cpu))
		}
		f.OffPerS, f.OnPerS, f.Ratio, f.OffCPUMs, f.OnCPUMs = median(off), median(on), median(ratios), median(offCPU), median(onCPU)
		report.Cases = append(report.Cases, f)
	}
	report.Server, err = serverOf(ctx, s, o)
	return report, err
}

// measureTelemetry measures the cases of Telemetry on a worker of their own.
func (s *stand) measureTelemetry(ctx context.Context, o Options, on bool, ids string, into map[string][]sample) error {
	before := len(s.closers)
	s.telemetry = on
	if err := s.servePawl(ctx); err != nil {
		return err
	}
	defer func() {
		for _, stop := range slices.Backward(s.closers[before:]) {
			stop()
		}
		s.closers = s.closers[:before]
	}()
	for _, k := range cases() {
		if !slices.ContainsFunc(telemetryGoals, func(f TelemetryFigure) bool { return f.Name == k.name }) {
			continue
		}
		if err := warm(ctx, s, k, ids); err != nil {
			return err
		}
		m, err := measure(ctx, s, k, o, ids+"-"+k.name)
		if err != nil {
			return err
		}
		into[k.name] = append(into[k.name], m)
	}
	return nil
}
