package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"time"
)

const (
	// maxSteps is how many values a graph has at most for one line, less one.
	maxSteps = 240
	// maxLines bounds the lines of a graph, and the lines of the table of an alert.
	maxLines = 10
	// leastWindow is the shortest window of a rate: several scrapes of Prometheus, which are a minute apart at most.
	leastWindow = time.Minute
)

// Options say what a report is about.
type Options struct {
	// Prometheus is the address of Prometheus. Token is a bearer token for it, or empty.
	Prometheus, Token string
	// Job is a regular expression of the jobs of Prometheus.
	Job string
	// For is the length of the time that the report covers, up to Now.
	For time.Duration
	Now time.Time
}

// ErrEmpty says that Prometheus has no metrics of a worker with the job Options.Job for the time of the report.
var ErrEmpty = errors.New("it has no metrics of Pawl")

// Write asks Prometheus and writes the page. It returns an error, and writes nothing, if Prometheus does not answer or has no metrics of
// Pawl. A query that fails later has its fault in the page.
func Write(ctx context.Context, to io.Writer, o Options) error {
	s, err := newSource(o)
	if err != nil {
		return err
	}
	board, err := panels()
	if err != nil {
		return err
	}
	alerts, err := rules()
	if err != nil {
		return err
	}
	jobs, err := regexp.Compile("^(?:" + o.Job + ")$")
	if err != nil {
		return fmt.Errorf("the job is no regular expression: %w", err)
	}
	window := max(leastWindow, s.step+15*time.Second)
	workers, err := s.ask(ctx, filled(`pawl_db_pool_max{job=~"$job"}`, o.Job, window))
	if err != nil {
		return err
	}
	if len(workers) == 0 {
		return fmt.Errorf("%s answers, but %w between %s and %s: does it read /metrics of a worker, and is the job right?",
			s.at.Redacted(), ErrEmpty, s.start.UTC().Format(timeFormat), s.end.UTC().Format(timeFormat))
	}
	p := page{From: s.start.UTC(), To: s.end.UTC(), Step: s.step, Source: s.at.Scheme + "://" + s.at.Host + s.at.Path, Workers: len(workers)}
	for _, a := range alerts {
		p.Alerts = append(p.Alerts, s.alert(ctx, a, jobs)...)
		p.Rules++
	}
	slices.SortStableFunc(p.Alerts, func(a, b held) int { return a.order() - b.order() })
	for _, next := range board {
		switch next.Type {
		case panelRow:
			p.Rows = append(p.Rows, pageRow{Title: next.Title})
		case panelStat, panelGraph:
			if len(p.Rows) == 0 {
				p.Rows = append(p.Rows, pageRow{})
			}
			row := &p.Rows[len(p.Rows)-1]
			if next.Type == panelStat {
				row.Stats = append(row.Stats, s.stat(ctx, next, o.Job, window))
			} else {
				row.Graphs = append(row.Graphs, s.graph(ctx, next, o.Job, window))
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return pageTemplate.Execute(to, p)
}

// stat returns a panel of one number: the last value.
func (s *source) stat(ctx context.Context, from panel, job string, window time.Duration) stat {
	v := stat{Title: from.Title, Description: from.Description, Value: "no data"}
	for _, t := range from.Targets {
		all, err := s.ask(ctx, filled(t.Expr, job, window))
		if err != nil {
			v.Value, v.Fault = "?", err.Error()
			return v
		}
		if len(all) == 0 {
			continue
		}
		line := all[0]
		value, ok := last(line.values)
		if !ok {
			continue
		}
		v.Value = number(value, from.FieldConfig.Defaults.Unit)
		for _, step := range from.FieldConfig.Defaults.Thresholds.Steps {
			if step.Value != nil && value >= *step.Value {
				v.Bad = true
			}
		}
		v.Line = newChart([]series{line}, sparkWidth, sparkHeight)
	}
	return v
}

// graph returns a panel of lines over time: the lines with the highest values, and the number of lines that it
// leaves out.
func (s *source) graph(ctx context.Context, from panel, job string, window time.Duration) graph {
	g := graph{Title: from.Title, Description: from.Description}
	unit := from.FieldConfig.Defaults.Unit
	var all []series
	for _, t := range from.Targets {
		found, err := s.ask(ctx, filled(t.Expr, job, window))
		if err != nil {
			g.Fault = err.Error()
			continue
		}
		for _, line := range found {
			if _, ok := last(line.values); !ok { // all of it is NaN: a quantile of nothing
				continue
			}
			line.labels["legend"] = labelled(t.LegendFormat, line.labels)
			all = append(all, line)
		}
	}
	slices.SortStableFunc(all, func(a, b series) int { return cmp.Compare(highest(b.values), highest(a.values)) })
	if len(all) > maxLines {
		g.More = len(all) - maxLines
		all = all[:maxLines]
	}
	for i, line := range all {
		value, _ := last(line.values)
		name := line.labels["legend"]
		if name == "" {
			name = "all"
		}
		g.Legend = append(g.Legend, legend{Color: i, Name: name, Last: number(value, unit), Max: number(highest(line.values), unit)})
	}
	if len(all) > 0 {
		g.Lines = newChart(all, graphWidth, graphHeight)
		g.Lines.axes(s, unit)
	}
	return g
}

// last returns the last value that is there.
func last(values []float64) (float64, bool) {
	for _, v := range slices.Backward(values) {
		if !math.IsNaN(v) {
			return v, true
		}
	}
	return 0, false
}

// highest returns the highest value that is not NaN, or 0 if there is none.
func highest(values []float64) float64 {
	most := math.Inf(-1)
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	if math.IsInf(most, -1) {
		return 0
	}
	return most
}
