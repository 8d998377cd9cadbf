package catalog_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// manyTools returns n variants of the golden tools.
func manyTools(b *testing.B, n int) []toolspec.Spec {
	golden := goldenTools(b)
	specs := make([]toolspec.Spec, n)
	for i := range specs {
		one, two := golden[i%len(golden)], golden[(i*7+i/len(golden))%len(golden)]
		one.Name = fmt.Sprintf("%s_%d", one.Name, i/len(golden))
		one.Description += " " + two.Description
		if i%2 == 0 {
			one.InputSchema = two.InputSchema
		}
		specs[i] = one
	}
	return specs
}

// BenchmarkPick takes the top 20 of 5 000 tools; the goal is 2 ms.
func BenchmarkPick(b *testing.B) {
	c := shown(manyTools(b, 5_000))
	if got := c.Pick(catalog.Query{Text: "file"}); len(got) != 20 {
		b.Fatalf("%d tools", len(got))
	}
	for name, text := range map[string]string{
		"word": "refund", "common": "the", "sentence": "send a message to the general channel of the sales team",
		"steps": "list the open issues, then send a message to the sales team and refund the last payment of the customer",
		"10KB":  strings.Repeat("please list the open issues of a repository and post them to the channel of the team ", 120),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Pick(catalog.Query{Text: text})
			}
		})
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			c.Pick(catalog.Query{Text: "a the of to", K: 5_000})
		}
	})
}

// BenchmarkIndex builds the index of 5 000 tools, and reports its size.
func BenchmarkIndex(b *testing.B) {
	specs := manyTools(b, 5_000)
	b.ReportAllocs()
	for b.Loop() {
		shown(specs).Pick(catalog.Query{Text: "file"})
	}
	b.StopTimer()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := shown(specs)
	c.Pick(catalog.Query{Text: "file"})
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(c)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB-held")
}
