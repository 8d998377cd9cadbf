package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/deploy/monitoring"
	"github.com/pawl-run/pawl/policy/strictyaml"
)

// panel is a panel of the board.
type panel struct {
	Type, Title, Description string
	FieldConfig              struct {
		Defaults struct {
			Unit       string
			Thresholds struct {
				Steps []struct {
					Color string
					Value *float64
				}
			}
		}
	}
	Targets []struct{ Expr, LegendFormat string }
}

// Types of panels.
const (
	panelRow   = "row"
	panelStat  = "stat"
	panelGraph = "timeseries"
)

// rule is an alert.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
	// wait is For as a duration.
	wait time.Duration
}

// panels reads the board.
func panels() ([]panel, error) {
	var board struct{ Panels []panel }
	if err := json.Unmarshal(monitoring.Board, &board); err != nil {
		return nil, fmt.Errorf("the board: %w", err)
	}
	return board.Panels, nil
}

// rules reads the alerts.
func rules() (all []rule, err error) {
	r := strictyaml.NewReader("rules.yml")
	var doc json.RawMessage
	if root := r.Load(monitoring.Rules); root != nil {
		doc, _ = r.JSON(root, "")
	}
	if faults := r.Faults(); len(faults) > 0 {
		return nil, faults.Sorted()
	}
	var file struct {
		Groups []struct{ Rules []rule }
	}
	if err := json.Unmarshal(doc, &file); err != nil {
		return nil, fmt.Errorf("the alerts: %w", err)
	}
	for _, g := range file.Groups {
		for _, next := range g.Rules {
			if next.For != "" {
				if next.wait, err = time.ParseDuration(next.For); err != nil {
					return nil, fmt.Errorf("%s: %w", next.Alert, err)
				}
			}
			all = append(all, next)
		}
	}
	return all, nil
}

// filled replaces the variables of Grafana in a query. job is a regular expression.
func filled(expr, job string, window time.Duration) string {
	quoted := strconv.Quote(job)
	expr = strings.ReplaceAll(expr, "$job", quoted[1:len(quoted)-1])
	return strings.ReplaceAll(expr, "$__rate_interval", strconv.Itoa(int(window.Seconds()))+"s")
}

// labelled replaces `{{label}}` and `{{ $labels.label }}` by the values of labels.
func labelled(text string, labels map[string]string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}}")
		b.WriteString(labels[strings.TrimPrefix(strings.TrimSpace(name), "$labels.")])
		text = after
	}
}
