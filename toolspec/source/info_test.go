package source_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/source"
)

func TestInfo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		info source.Info
		text string
		ok   bool
	}{
		{source.Info{Kind: source.MCP, Name: "Git_hub-2"}, "mcp Git_hub-2", true},
		{source.Info{Kind: source.Extension}, "extension", true},
		{source.Info{Kind: source.Extension, Name: strings.Repeat("a", 64)}, "extension " + strings.Repeat("a", 64), true},
		{source.Info{Kind: source.Extension, Name: strings.Repeat("a", 65)}, "", false},
		{source.Info{Kind: source.Extension, Name: "two words"}, "", false},
		{source.Info{Kind: source.Extension, Name: "é"}, "", false},
		{source.Info{Kind: "plugin", Name: "a"}, "", false},
		{source.Info{Name: "a"}, "", false},
	} {
		if err := tc.info.Check(); (err == nil) != tc.ok {
			t.Errorf("%+v: %v", tc.info, err)
		}
		if tc.ok && tc.info.String() != tc.text {
			t.Errorf("%+v is %q", tc.info, tc.info)
		}
	}
}
