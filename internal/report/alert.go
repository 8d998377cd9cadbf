package report

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// span is a time for which the expression of an alert held.
type span struct {
	From, To time.Time
	// X and Width are the place of the span in the strip, in 1/1000 of the
	// strip.
	X, Width float64
	// Fired says that the expression held for as long as the alert demands.
	Fired bool
	// Open says that the expression holds at the end of the report.
	Open bool
}

// held is an alert whose expression held, for one set of labels.
type held struct {
	// Wait is how long the condition must hold, or "".
	Name, Severity, Summary, Labels, Runbook, Fault, Wait string
	Spans                                                 []span
	More                                                  int
	// format is the format of the times.
	format string
}

// State says in a word what is true at the end of the report.
func (h held) State() string {
	open, fired := false, false
	for _, s := range h.Spans {
		fired = fired || s.Fired
		if s.Open {
			open = s.Fired
			if !s.Fired {
				return "pending"
			}
		}
	}
	switch {
	case h.Fault != "":
		return "not known"
	case open:
		return "firing"
	case fired:
		return "over"
	}
	return "short"
}

// order sorts what fires before what is over, and critical before warning.
func (h held) order() int {
	n := slices.Index([]string{"firing", "not known", "pending", "over", "short"}, h.State()) * 2
	if h.Severity != "critical" {
		n++
	}
	return n
}

// Times says when the alert held.
func (h held) Times() string {
	if len(h.Spans) == 0 {
		return ""
	}
	s := h.Spans[len(h.Spans)-1]
	text := s.From.UTC().Format(h.format) + " – " + s.To.UTC().Format(h.format)
	if s.Open {
		text = "since " + s.From.UTC().Format(h.format)
	}
	switch n := len(h.Spans) - 1; {
	case n == 1:
		text += ", and once before"
	case n > 1:
		text += fmt.Sprintf(", and %d times before", n)
	}
	return text
}

// alert asks for the expression of an alert. It leaves out other jobs.
func (s *source) alert(ctx context.Context, r rule, jobs *regexp.Regexp) []held {
	base := held{Name: r.Alert, Severity: r.Labels["severity"], Runbook: r.Annotations["runbook_url"], Wait: r.For, Summary: r.Alert, format: "15:04:05"}
	if s.end.Sub(s.start) > 24*time.Hour {
		base.format = "01-02 15:04"
	}
	all, err := s.ask(ctx, r.Expr)
	if err != nil {
		base.Fault = err.Error()
		return []held{base}
	}
	var found []held
	for _, line := range all {
		if job, ok := line.labels["job"]; ok && !jobs.MatchString(job) {
			continue
		}
		next := base
		next.Summary = labelled(r.Annotations["summary"], line.labels)
		next.Labels = labelText(line.labels)
		next.Spans = s.spans(line.values, r.wait)
		if len(next.Spans) > 0 {
			found = append(found, next)
		}
	}
	slices.SortStableFunc(found, func(a, b held) int { return a.order() - b.order() })
	if len(found) > maxLines {
		found[maxLines-1].More = len(found) - maxLines
		found = found[:maxLines]
	}
	return found
}

// spans returns the times at which there is a value.
func (s *source) spans(values []float64, wait time.Duration) (all []span) {
	began := -1
	end := func(i int) {
		if began < 0 {
			return
		}
		from, to := s.start.Add(time.Duration(began)*s.step), s.start.Add(time.Duration(i-1)*s.step)
		n := float64(max(len(values)-1, 1))
		all = append(all, span{
			From: from, To: to, Fired: to.Sub(from) >= wait, Open: i == len(values),
			X: 1000 * float64(began) / n, Width: max(1000*float64(i-1-began)/n, 3),
		})
		began = -1
	}
	for i, v := range values {
		if math.IsNaN(v) {
			end(i)
		} else if began < 0 {
			began = i
		}
	}
	end(len(values))
	return all
}

// labelText returns labels as name=value, sorted by name and separated by spaces. It leaves out __name__, the name of the metric.
func labelText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if name != "__name__" {
			parts = append(parts, name+"="+labels[name])
		}
	}
	return strings.Join(parts, " ")
}
