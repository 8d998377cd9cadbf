package deploycheck

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// board is what tests read of the board.
type board struct{ Panels []boardPanel }

type boardPanel struct {
	Type, Title string
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ RefID, Expr string }
}

func readBoard(t *testing.T) board {
	t.Helper()
	text, err := os.ReadFile("../../deploy/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var b board
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// panels are those with queries.
func (b board) panels() (with []boardPanel) {
	for _, p := range b.Panels {
		if len(p.Targets) > 0 {
			with = append(with, p)
		}
	}
	return with
}

// strictly reads a board with Grafana's types. It returns an error for a field that they do not have.
func strictly(text []byte) error {
	var d dashboard.Dashboard
	// The types answer with an empty list of errors if there is none.
	if err := d.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		return err
	}
	if err := d.Validate(); err != nil && err.Error() != "" {
		return err
	}
	return nil
}

// TestBoard: Grafana's own types have every field of the board, its panels do not overlap, and docs/metrics.md has every metric and label of its
// queries. TestMonitoring asks the queries.
func TestBoard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	types := cog.NewRuntime()
	types.RegisterPanelcfgVariant(stat.VariantConfig())
	types.RegisterPanelcfgVariant(timeseries.VariantConfig())
	types.RegisterDataqueryVariant(prometheus.VariantConfig())
	if err := strictly(text); err != nil {
		t.Errorf("Grafana's types do not have this: %v", err)
	}
	for _, field := range []string{"legendFormat", "gridPos", "reduceOptions", "fillOpacity", "templating"} {
		if strictly([]byte(strings.Replace(string(text), `"`+field+`"`, `"`+field+`s"`, 1))) == nil {
			t.Errorf("a misspelled %s passes", field)
		}
	}
	b, titles := readBoard(t), map[string]bool{}
	for i, p := range b.Panels {
		if p.Type != "row" && len(p.Targets) == 0 || titles[p.Title] {
			t.Errorf("%q has no query, or is there twice", p.Title)
		}
		titles[p.Title] = true
		for _, q := range b.Panels[:i] {
			x := p.GridPos.X < q.GridPos.X+q.GridPos.W && q.GridPos.X < p.GridPos.X+p.GridPos.W
			if y := p.GridPos.Y < q.GridPos.Y+q.GridPos.H && q.GridPos.Y < p.GridPos.Y+p.GridPos.H; x && y {
				t.Errorf("%q is over %q", p.Title, q.Title)
			}
		}
		for _, target := range p.Targets {
			if !strings.Contains(target.Expr, `job=~"$job"`) {
				t.Errorf("%q shows other jobs too: %s", p.Title, target.Expr)
			}
			knownMetrics(t, p.Title, target.Expr)
		}
	}
}
