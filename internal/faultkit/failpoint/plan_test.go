package failpoint_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/point"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		at, by string
		want   failpoint.Plan
		fault  string
	}{
		{want: failpoint.Plan{}},
		{at: "claim.after", want: failpoint.Plan{At: point.ClaimAfter, Nth: 1, By: failpoint.Kill}},
		{at: "claim.after:3", by: "STOP", want: failpoint.Plan{At: point.ClaimAfter, Nth: 3, By: failpoint.Stop}},
		{at: "close.before", by: "TERM", want: failpoint.Plan{At: point.CloseBefore, Nth: 1, By: failpoint.Term}},
		{at: "claim", fault: "no point"},
		{at: "claim.after:", fault: "number"},
		{at: "claim.after:0", fault: "number"},
		{at: "claim.after:x", fault: "number"},
		{at: "claim.after", by: "HUP", fault: "none of"},
	} {
		env := map[string]string{failpoint.CrashAt: tc.at, failpoint.CrashBy: tc.by}
		got, err := failpoint.Parse(func(name string) string { return env[name] })
		if got != tc.want || (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%q by %q: %+v, %v; want %+v and the error %q", tc.at, tc.by, got, err, tc.want, tc.fault)
		}
		if err != nil {
			continue
		}
		// Environ returns variables that Parse reads back.
		env = map[string]string{}
		for _, line := range tc.want.Environ() {
			name, value, _ := strings.Cut(line, "=")
			env[name] = value
		}
		if again, err := failpoint.Parse(func(name string) string { return env[name] }); err != nil || again != tc.want {
			t.Errorf("%+v came back as %+v, %v", tc.want, again, err)
		}
	}
}

// TestPoints: every point has a before and an after, and no point is listed twice.
func TestPoints(t *testing.T) {
	t.Parallel()
	seen := map[point.Name]bool{}
	for i, p := range point.All() {
		place, side, ok := strings.Cut(string(p), ".")
		want := []string{"before", "after"}[i%2]
		if !ok || side != want || seen[p] || want == "after" && !seen[point.Name(place+".before")] {
			t.Errorf("%s stands at place %d", p, i)
		}
		seen[p] = true
	}
}
