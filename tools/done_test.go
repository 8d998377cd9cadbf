package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
)

func TestDone(t *testing.T) {
	for _, message := range []string{"All 14 tests pass.", "zwei\nZeilen — ✓", strings.Repeat("x", 31<<10)} {
		got := pawltest.Call{Tool: tools.Done(), Args: map[string]any{"message": message}}.Run(t)
		if got.Result.Kind != toolspec.KindText || string(got.Value) != quoted(t, message) {
			t.Errorf("%.20q: %+v", message, got.Result)
		}
	}
	for _, args := range []string{`{}`, `{"message":""}`, `{"message":"` + strings.Repeat("x", 33<<10) + `"}`} {
		if got := (pawltest.Call{Tool: tools.Done(), Args: args}).Run(t).Result; got.ErrorCode != toolspec.CodeValidation {
			t.Errorf("%.20q: %+v", args, got)
		}
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
