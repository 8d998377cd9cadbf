package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/toolspec"
)

func newReview(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "review TOOL", Short: "Show what a server says of a tool, what has changed since its review, and the entry for the policy",
		Args: app.ExactArgs(1, "the id of a tool; `pawl mcp list` shows the tools"),
		Long: "Show the definition of a tool as a running worker has it from its MCP server, with its digest. If policy has a review of\n" +
			"another definition, show what has changed. A description is text of the server: a model reads it. Read it as you\n" +
			"would read a program.\n\n" +
			"The entry for the policy says what you decide: the effect, the risk, whether the tool may run again, and which parts\n" +
			"of its output may leave. The annotations of a server are hints and decide nothing.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				tools, _, err := findTools(cmd.Context(), s)
				if err != nil {
					return err
				}
				f, err := findOffered(tools, args[0])
				if err != nil {
					return err
				}
				shown, err := shownOf(cmd.Context(), s, f)
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, shown)
				}
				shown.print(a.Out)
				return nil
			})
		},
	}
}

// shown is a tool for its reviewer.
type shown struct {
	found
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	// Changes are the differences from the definition that was reviewed, if the state is changed.
	Changes []review.Change `json:"changes,omitempty"`
	// Unknown says that the definition that was reviewed is not stored, so that there is nothing to compare with: no worker has published it,
	// or it was deleted because no worker has it any more.
	Unknown bool `json:"reviewedDefinitionUnknown,omitempty"`
	// Entry is the review as text for a policy file. Without it, policy denies the calls of the tool.
	Entry string `json:"entry"`

	proposed policy.MCPReview
}

// shownOf returns what a reviewer sees of a tool. If the definition has changed since its review, it has the changes too.
func shownOf(ctx context.Context, s *app.Session, f found) (shown, error) {
	proposed := proposal(f)
	v := shown{
		found: f, Title: f.spec.Title, Description: f.spec.Description, Annotations: f.spec.Discovered.Annotations,
		InputSchema: f.spec.InputSchema, OutputSchema: f.spec.OutputSchema, Entry: review.MCPEntry(f.Server, f.Name, proposed), proposed: proposed,
	}
	if f.State != policy.Changed {
		return v, nil
	}
	before, known, err := s.Store.DiscoveredSpec(ctx, f.ToolID, f.Review.Digest)
	if err != nil {
		return v, err
	}
	v.Unknown, v.Changes = !known, review.DiffDefinitions(before, f.spec)
	if !known {
		v.Changes = nil
	}
	return v, nil
}

// proposal returns the review that the command proposes for the definition that a worker has now: the review in the
// active policy with the digest of this definition, without the parts of the output that a changed definition does not
// have any more, or, if there is none, a review with the largest effect and risk. If no part is left, or without a
// review, it shows each field of the output.
func proposal(f found) policy.MCPReview {
	r := policy.MCPReview{Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk}
	if f.Review != nil {
		r = *f.Review
	}
	r.Digest = f.Digest
	if f.State == policy.Changed {
		r.Allow = slices.DeleteFunc(slices.Clone(r.Allow), func(path string) bool { return mcp.CheckAllow(f.spec.OutputSchema, []string{path}) != nil })
	}
	if len(r.Allow) == 0 {
		r.Allow = mcp.Fields(f.spec.OutputSchema)
	}
	if len(r.Allow) == 0 {
		r.Allow = []string{""}
	}
	return r
}

func (v shown) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n", v.ToolID)
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-11s %s\n", what, app.OneLine(text, 1000))
		}
	}
	line("server", v.Server)
	line("name", toolspec.Quoted(v.Name))
	line("state", v.says())
	line("digest", v.Digest)
	line("looks like", strings.Join(v.LooksLike, ", "))
	fmt.Fprintf(w, "\nwhat the server says of it:\n")
	block(w, "title", v.Title)
	block(w, "description", v.Description)
	if len(v.Annotations) > 0 {
		block(w, "annotations", app.FormatJSON(v.Annotations, ""))
	}
	block(w, "input", app.FormatJSON(v.InputSchema, ""))
	block(w, "output", app.FormatJSON(v.OutputSchema, ""))
	v.printChanges(w)
	if v.State == policy.Reviewed || v.State == policy.Pending {
		fmt.Fprintf(w, "\nits review in the policy:\n\n%s", v.Entry)
		return
	}
	fmt.Fprintf(w, "\nif you trust it, decide on this entry, and add it to the policy file:\n\n%s\nor run: %s\n", v.Entry, trustCommand(v.ToolID, v.proposed))
}

func (v shown) printChanges(w io.Writer) {
	switch {
	case v.State != policy.Changed:
		return
	case v.Unknown:
		fmt.Fprintf(w, "\nthe definition that was reviewed (%s) is not stored: it was never published, or deleted because no worker has it any more. There is nothing to compare with: review all of it\n", v.Review.Digest)
		return
	case len(v.Changes) == 0:
		fmt.Fprintf(w, "\nsince its review (%s) only parts have changed that workers do not publish\n", v.Review.Digest)
		return
	}
	fmt.Fprintf(w, "\nchanged since its review (%s):\n", v.Review.Digest)
	for _, c := range v.Changes {
		fmt.Fprintln(w, "  "+app.OneLine(c.Path, 400))
		for _, entry := range c.Removed {
			block(w, "  -", entry)
		}
		for _, entry := range c.Added {
			block(w, "  +", entry)
		}
	}
}

// block prints text of a server so that no line of it can be taken for a line of this program.
func block(w io.Writer, what, text string) {
	for i, line := range strings.Split(app.Printable(text), "\n") {
		if i > 0 {
			what = ""
		}
		fmt.Fprintf(w, "%-11s | %s\n", what, line)
	}
}

// trustCommand returns the command that writes a review into the active policy.
func trustCommand(toolID string, r policy.MCPReview) string {
	words := []string{"pawl mcp trust", toolID, "--digest", r.Digest, "--effect", string(r.Effect), "--risk", string(r.Risk)}
	for _, path := range r.Allow {
		words = append(words, "--allow", shellWord(path))
	}
	if r.Idempotent {
		words = append(words, "--idempotent")
	}
	for _, name := range r.HarmlessNames {
		words = append(words, "--harmless", shellWord(name))
	}
	return strings.Join(words, " ")
}

// shellWord returns a text as one word of a shell.
func shellWord(text string) string {
	return "'" + strings.ReplaceAll(app.Printable(text), "'", `'\''`) + "'"
}
