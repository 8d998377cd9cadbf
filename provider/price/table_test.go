package price

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec/wire"
)

const document = `date: 2026-11-01
prices:
  - {format: anthropic, model: "large-*", input: 3, cached: 0.30, cacheWrite: 3.75, output: 15}
  - {format: anthropic, model: large-mini, input: 0.000001, cached: 0, cacheWrite: 0, output: 0.1}
  - {format: anthropic, model: "large-mini-*", input: 1, cached: 0, cacheWrite: 0, output: 0}
  - {format: ollama, model: "*", input: 0, cached: 0, cacheWrite: 0, output: 0}
  - {format: openai, model: dear, input: 99999.999999, cached: 99999, cacheWrite: 99999, output: 99999}
`

func TestCost(t *testing.T) {
	table, err := Parse("prices.yaml", []byte(document))
	if err != nil || table.Date() != "2026-11-01" {
		t.Fatal(table.Date(), err)
	}
	usage := func(input, cached, written, output int64) wire.Usage {
		return wire.Usage{Reported: true, Input: input, CacheRead: cached, CacheWrite: written, Output: output}
	}
	for _, tc := range []struct {
		name, format, model string
		usage               wire.Usage
		want                int64
		ok                  bool
	}{
		{"each price", "anthropic", "large-4", usage(1_000_000, 100_000, 10_000, 1000), 3_000_000 + 30_000 + 37_500 + 15_000, true},
		{"rounded up once", "anthropic", "large-4", usage(0, 1, 1, 0), 5, true}, // 0.3 + 3.75
		{"exact", "anthropic", "large-4", usage(0, 10, 0, 0), 3, true},
		{"a name before its beginning", "anthropic", "large-mini", usage(1, 0, 0, 10), 2, true}, // 1.000001
		{"the longest beginning", "anthropic", "large-mini-2", usage(5, 0, 0, 0), 5, true},
		{"no cost", "ollama", "any:8b", usage(1000, 0, 0, 1000), 0, true},
		{"nothing used", "anthropic", "large-4", usage(0, 0, 0, 0), 0, true},
		{"less than nothing", "anthropic", "large-4", usage(-5, 0, 0, 1), 15, true},
		{"reasoning is part of the output", "anthropic", "large-4", wire.Usage{Reported: true, Output: 2, Reasoning: 2}, 30, true},
		{"the most that a codec counts", "openai", "dear", usage(1<<40, 1<<40, 1<<40, 1<<40), 439_801_352_574_417_161, true},
		{"beyond an int64", "openai", "dear", usage(math.MaxInt64, 0, 0, 0), math.MaxInt64, true},
		{"an unknown model", "anthropic", "small", usage(1, 1, 1, 1), 0, false},
		{"another format", "gemini", "large-4", usage(1, 1, 1, 1), 0, false},
		{"no usage", "anthropic", "large-4", wire.Usage{}, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, ok := table.Cost(tc.format, tc.model, tc.usage); got != tc.want || ok != tc.ok {
				t.Errorf("got %d, %v, want %d, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
	if _, ok := (Table{}).Cost("ollama", "m", usage(1, 0, 0, 0)); ok {
		t.Error("a table without prices has one")
	}
}

func TestParse(t *testing.T) {
	good := `{format: openai, model: a, input: 1, cached: 1, cacheWrite: 1, output: 1}`
	for _, tc := range []struct{ name, doc, want string }{
		{"no date", "prices: [" + good + "]", "f:1:1: date: is missing"},
		{"no day", "date: 2026-11-31\nprices: [" + good + "]", "f:1:7: date: must be a day"},
		{"no prices", "date: 2026-11-01", "f:1:1: prices: is missing"},
		{"an empty list", "date: 2026-11-01\nprices: []", "write a price"},
		{"a price missing", "date: 2026-11-01\nprices:\n- {format: openai, model: a, input: 1, cached: 1, output: 1}", "f:3:3: prices[0].cacheWrite: is missing: write US dollars"},
		{"a misspelled key", "date: 2026-11-01\nprices:\n- {format: openai, model: a, input: 1, cached: 1, cachewrite: 1, output: 1}", "did you mean cacheWrite?"},
		{"an unknown format", "date: 2026-11-01\nprices: [" + strings.Replace(good, "openai", "open", 1) + "]", "prices[0].format: must be"},
		{"a star inside", "date: 2026-11-01\nprices: [" + strings.Replace(good, "model: a", `model: "a*b"`, 1) + "]", "its beginning and *"},
		{"twice", "date: 2026-11-01\nprices:\n- " + good + "\n- " + good, "f:4:3: prices[1]: is about the same models as line 3"},
		{"negative", "date: 2026-11-01\nprices: [" + strings.Replace(good, "input: 1", "input: -1", 1) + "]", "prices[0].input: must be US dollars"},
		{"an exponent", "date: 2026-11-01\nprices: [" + strings.Replace(good, "input: 1", "input: 1e3", 1) + "]", "prices[0].input: must be US dollars"},
		{"too fine", "date: 2026-11-01\nprices: [" + strings.Replace(good, "input: 1", "input: 0.1234567", 1) + "]", "prices[0].input: must be US dollars"},
		{"octal", "date: 2026-11-01\nprices: [" + strings.Replace(good, "input: 1", "input: 010", 1) + "]", "prices[0].input: must be US dollars"},
		{"too much", "date: 2026-11-01\nprices: [" + strings.Replace(good, "input: 1", "input: 100000", 1) + "]", "prices[0].input: must be US dollars"},
		{"a text", "date: 2026-11-01\nprices: [" + strings.Replace(good, "input: 1", `input: "1"`, 1) + "]", "prices[0].input: must be US dollars"},
		{"a list", "date: 2026-11-01\nprices: [" + strings.Replace(good, "input: 1", `input: [1]`, 1) + "]", "prices[0].input: must be US dollars"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table, err := Parse("f", []byte(tc.doc))
			var faults strictyaml.Errors
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), tc.want) || len(table.rows) > 0 {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestFormats: the formats of a table are those of the codecs.
func TestFormats(t *testing.T) {
	var known []string
	for _, codec := range codecs {
		known = append(known, codec.Format())
	}
	if !slices.Equal(known, formats) {
		t.Errorf("the codecs are %q, and a table has %q", known, formats)
	}
}
