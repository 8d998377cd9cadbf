package worker

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// TestModelPrices: the prices follow their file. An invalid file removes no price, and the log has its fault
// once.
func TestModelPrices(t *testing.T) {
	t.Parallel()
	const row = "  - {format: openai, model: m, input: 1, cached: 0, cacheWrite: 0, output: 0}\n"
	name := filepath.Join(t.TempDir(), "prices.yaml")
	var log bytes.Buffer
	c := Config{ModelPrices: name, Log: slog.New(slog.NewTextHandler(&log, nil))}
	if _, err := readPrices(c); err == nil || !strings.Contains(err.Error(), "PAWL_MODEL_PRICES") {
		t.Errorf("without the file it says %v", err)
	}
	writeFile(t, name, "date: 2026-11-01\nprices:\n"+row+row)
	if _, err := readPrices(c); err == nil || !strings.Contains(err.Error(), "prices.yaml:4:5: prices[1]: is about the same models as line 3") {
		t.Errorf("of an invalid file it says %v", err)
	}
	writeFile(t, name, "date: 2026-11-01\nprices:\n"+row)
	prices, err := readPrices(c)
	if err != nil {
		t.Fatal(err)
	}
	cost := func(step string, want int64) {
		t.Helper()
		if got, ok := prices.Cost("openai", "m", wire.Usage{Reported: true, Input: 10}); got != want || !ok {
			t.Errorf("%s: got %d, %v, want %d", step, got, ok, want)
		}
	}
	cost("at first", 10)
	writeFile(t, name, "date: 2026-11-02\nprices:\n"+strings.Replace(row, "input: 1", "input: free", 1))
	cost("an invalid file", 10)
	cost("and again", 10)
	if said := log.String(); strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, "line 3, column 39: prices[0].input: must be US dollars") {
		t.Errorf("the log is %s", said)
	}
	writeFile(t, name, "date: 2026-11-02\nprices:\n"+strings.Replace(row, "input: 1", "input: 25", 1))
	cost("a new price", 250)
	if !strings.Contains(log.String(), "date=2026-11-02") {
		t.Errorf("the log is %s", log.String())
	}
	none, err := readPrices(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := none.Cost("openai", "m", wire.Usage{Reported: true}); ok {
		t.Error("without a file there is a price")
	}
}
