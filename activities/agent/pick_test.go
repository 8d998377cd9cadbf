package agent

import (
	"strings"
	"testing"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// TestPick: a request has no more tools than the agent allows, and no tool that the run may not use, even if
// the tool fits the text well.
func TestPick(t *testing.T) {
	t.Parallel()
	spec := func(name, description string) toolspec.Spec {
		return toolspec.Spec{Name: name, Description: description}
	}
	visible := catalog.New([]toolspec.Spec{
		spec("a__write", "Writes a file"), spec("a__read", "Reads a file"), spec("a__mail", "Sends a mail"), spec("a__other", "Reads a file best of all"),
		spec("a__hidden", "Reads a file"), spec(pawlagent.DoneTool, "Ends the work"),
	}, func(s toolspec.Spec) catalog.Visibility {
		if s.Name == "a__hidden" {
			return catalog.Hidden
		}
		return catalog.Visible
	})
	allowed := []string{"a__mail", "a__write", "a__hidden", "a__read", pawlagent.DoneTool}
	for _, tc := range []struct {
		most   int
		choice wire.Mode
		wanted string
		want   string
	}{
		{0, "", "read a file", "a__mail a__write a__read " + pawlagent.DoneTool},
		{4, "", "read a file", "a__mail a__write a__read " + pawlagent.DoneTool},
		{2, "", "read a file", "a__read " + pawlagent.DoneTool},
		{3, "", "read a file", "a__write a__read " + pawlagent.DoneTool},
		{2, "", "", "a__mail " + pawlagent.DoneTool},
		{2, "", "zzz", "a__mail " + pawlagent.DoneTool},
		{2, wire.Named, "read a file", "a__write " + pawlagent.DoneTool},
		{1, wire.Named, "read a file", "a__write"},
	} {
		run := Run{Document: pawlagent.Document{Limits: pawlagent.Limits{Offered: tc.most}, Choice: pawlagent.Choice{Mode: tc.choice, Tool: "a__write"}}}
		for range 3 {
			if got := strings.Join(pick(visible, run, allowed, tc.wanted), " "); got != tc.want {
				t.Errorf("%d %s %q: %s, want %s", tc.most, tc.choice, tc.wanted, got, tc.want)
			}
		}
	}
}
