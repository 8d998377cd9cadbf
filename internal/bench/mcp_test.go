package bench

import "testing"

// TestMCP: the three calls of the comparison are made, and the direct one is what the others are compared with. How long they take is for `pawl bench --mcp`.
func TestMCP(t *testing.T) {
	report, err := MCP(t.Context(), Options{Rounds: 1, Calls: 2, Parallel: 1, Store: Memory, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Cases) != 3 || report.Cases[0].Name != "direct" || report.Cases[0].Ratio != 1 {
		t.Errorf("the cases are %+v", report.Cases)
	}
	for _, c := range report.Cases {
		if c.P50Ms <= 0 || c.P95Ms < c.P50Ms || c.Ratio <= 0 {
			t.Errorf("%+v", c)
		}
	}
}
