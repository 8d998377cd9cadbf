package toolspec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// TestCacheOfADefinition: what a tool may say about keeping its values.
func TestCacheOfADefinition(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*toolspec.Definition)
		want   string
	}{
		{"nothing", func(*toolspec.Definition) {}, ""},
		{"all of it", func(d *toolspec.Definition) {
			d.CacheFor, d.CacheScope, d.CacheTags = time.Hour, toolspec.PerTenant, []string{"repo:7"}
		}, ""},
		{"the bounds", func(d *toolspec.Definition) { d.CacheFor, d.CacheScope = toolspec.MinCacheFor, toolspec.PerSession }, ""},
		{"never", func(d *toolspec.Definition) { d.CacheFor = toolspec.NeverCached }, ""},
		{"a write never", func(d *toolspec.Definition) { d.Effect, d.CacheFor = toolspec.StateChange, toolspec.NeverCached }, ""},
		{"a write", func(d *toolspec.Definition) { d.Effect, d.CacheFor = toolspec.StateChange, time.Hour }, "cacheFor goes with the effect read_only"},
		{"too short", func(d *toolspec.Definition) { d.CacheFor = time.Millisecond }, "cacheFor must be between"},
		{"too long", func(d *toolspec.Definition) { d.CacheFor = toolspec.MaxCacheFor + 1 }, "cacheFor must be between"},
		{"negative", func(d *toolspec.Definition) { d.CacheFor = -time.Hour }, "cacheFor must be between"},
		{"for everybody", func(d *toolspec.Definition) { d.CacheScope = "world" }, `cacheScope "world"`},
		{"an empty tag", func(d *toolspec.Definition) { d.CacheTags = []string{"a", ""} }, "cacheTags: tag 2"},
		{"a long tag", func(d *toolspec.Definition) { d.CacheTags = []string{strings.Repeat("a", 129)} }, "cacheTags: tag 1"},
		{"a tag with a space", func(d *toolspec.Definition) { d.CacheTags = []string{"a b"} }, "cacheTags: tag 1"},
		{"a tag of other letters", func(d *toolspec.Definition) { d.CacheTags = []string{"ä"} }, "cacheTags: tag 1"},
		{"a secret as a tag", func(d *toolspec.Definition) { d.CacheTags = []string{"ghp_" + strings.Repeat("a", 36)} }, "shape of a secret"},
		{"many tags", func(d *toolspec.Definition) { d.CacheTags = strings.Split(strings.Repeat("a", 17), "") }, "more than 16 tags"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := definition()
			tc.change(&d)
			err := toolspec.Define(d, add).Definition().Check()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
