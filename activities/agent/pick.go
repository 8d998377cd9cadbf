package agent

import (
	"slices"
	"strings"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// wanted returns the text by which pick chooses the tools of a request: the last message of the user in the input
// of the run, and the last message that a person has said since. Texts of models and tools do not count: the
// output of a tool must not decide which tools the model has next.
func wanted(run Run, said []Said) string {
	if run.Document.Limits.Offered == 0 { // nothing is picked
		return ""
	}
	var texts []string
	for _, m := range slices.Backward(run.Input.Messages) {
		if m.Role != conversation.User {
			continue
		}
		for _, part := range m.Content {
			if part.Type == conversation.Text {
				texts = append(texts, part.Text)
			}
		}
		break
	}
	if len(said) > 0 {
		texts = append(texts, said[len(said)-1].Text)
	}
	return strings.Join(texts, "\n")
}

// pick returns the ids of the tools of a request, in the order of allowed, the tools that the run may use. It
// leaves out tools that are not visible. If more than Limits.Offered tools are left, pick keeps as many as that:
// first the tool that the agent's choice names, core__done and core__run_agent, then the tools that fit the text
// best, and then the first tools of allowed.
func pick(visible catalog.Catalog, run Run, allowed []string, text string) []string {
	most := run.Document.Limits.Offered
	seen := slices.DeleteFunc(slices.Clone(allowed), func(id string) bool {
		_, ok := visible.Get(id)
		return !ok
	})
	if most == 0 || len(seen) <= most {
		return seen
	}
	keep := map[string]bool{}
	add := func(id string) {
		if slices.Contains(seen, id) && len(keep) < most {
			keep[id] = true
		}
	}
	if run.Document.Choice.Mode == wire.Named {
		add(run.Document.Choice.Tool)
	}
	add(pawlagent.DoneTool)
	add(pawlagent.RunTool)
	if strings.TrimSpace(text) != "" {
		for _, match := range visible.Pick(catalog.Query{Text: text, K: most}) {
			add(match.Spec.Name)
		}
	}
	for _, id := range seen {
		add(id)
	}
	return slices.DeleteFunc(seen, func(id string) bool { return !keep[id] })
}
