package policies

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// shortDigest is the number of characters of a digest that messages and tables show.
const shortDigest = 12

// noPolicy stands for the digest if no version is active.
const noPolicy = "none"

func newPolicyApply(a *app.App) *cobra.Command {
	var by, expected string
	cmd := &cobra.Command{
		Use: "apply FILE", Short: "Make a policy file the active policy, also for calls that run or wait",
		Long: "Make a policy file the active policy, for all workers at once. A file with an error changes nothing.\n\n" +
			"With --expect, apply fails if another version is active. So two people cannot overwrite each other's\n" +
			"change unnoticed.",
		Args: app.ExactArgs(1, "a policy file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := readPolicy(args[0])
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, refused, err := compare(cmd.Context(), s.Store, p)
				if err != nil {
					return err
				}
				if refused != nil {
					return refused
				}
				act := policies.Activation{Policy: p, By: by}
				if cmd.Flags().Changed("expect") {
					digest, err := expectedVersion(cmd.Context(), s, expected)
					if err != nil {
						return err
					}
					act.Expected = &digest
				}
				return activatePolicy(cmd.Context(), a, s, act, found...)
			})
		},
	}
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	cmd.Flags().StringVar(&expected, "expect", "", "the version that must be active, or none")
	return cmd
}

func newPolicyRollback(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "rollback [DIGEST]", Short: "Make an earlier version the active policy; default the version before the active one",
		Args: app.AtMostOneArg("at most a digest; `pawl policy history` lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				active, digest, err := lastMove(cmd.Context(), s)
				switch {
				case err != nil:
					return err
				case len(args) == 1:
					if digest, err = findVersion(cmd.Context(), s, args[0]); err != nil {
						return err
					}
				case digest == "":
					return errors.New("there is no version before the active one; `pawl policy history` lists the versions that were active")
				}
				p, err := s.Store.Policy(cmd.Context(), digest)
				if err != nil {
					return fmt.Errorf("version %s cannot be made active: %w", digest, err)
				}
				// Expected makes the command fail if another person has changed the active version in the meantime.
				return activatePolicy(cmd.Context(), a, s, policies.Activation{Policy: p, By: by, How: policies.RolledBack, Expected: &active})
			})
		},
	}
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	return cmd
}

// activatePolicy makes a version of the policy the active version, and prints it with the warnings.
func activatePolicy(ctx context.Context, a *app.App, s *app.Session, act policies.Activation, warnings ...*strictyaml.Error) error {
	if err := app.RequireIdentity("--as", act.By, app.ForAudit); err != nil {
		return err
	}
	changed, err := s.Store.Activate(ctx, act)
	if err != nil {
		return err
	}
	said := "active"
	if !changed {
		said = "was active already"
	}
	return printPolicy(a, act.Policy, said, warnings...)
}

func newPolicyHistory(a *app.App) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "history", Short: "Show the versions that were active, newest first", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 500 {
				return app.Usage(errors.New("--limit is between 1 and 500"))
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				moves, err := s.Store.PolicyHistory(cmd.Context(), limit)
				if err != nil {
					return err
				}
				headings := []string{"SINCE", "VERSION", "INSTEAD OF", "HOW", "BY"}
				return app.PrintRows(a, moves, "no policy was ever active", headings, func(m policies.ActivationRecord) []string {
					return []string{app.FormatTime(m.At), short(m.Digest), short(m.Before), string(m.How), app.QuoteName(m.By)}
				})
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of rows, 1–500")
	return cmd
}

func newPolicyDiff(a *app.App) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "diff [FILE]", Short: "Show what a policy file would change, or what the last policy change was",
		Long: "Show the difference between a policy file and the active version, and the published tools whose verdict\n" +
			"changes. Verdicts are judged without arguments. Without a file, diff compares the active version with the\n" +
			"version before it.",
		Args: app.AtMostOneArg("at most a policy file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var candidate *policy.Policy
			if len(args) == 1 {
				var err error
				if candidate, err = readPolicy(args[0]); err != nil {
					return err
				}
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				before, after, err := comparedVersions(cmd.Context(), s, candidate, from)
				if err != nil {
					return err
				}
				specs, err := s.Store.Specs(cmd.Context())
				if err != nil {
					return err
				}
				return printDifference(a, before, after, specs)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "compare with this version; none is the policy that denies everything")
	return cmd
}

// comparedVersions returns the two versions that a diff compares. after is candidate or, if it is nil, the active
// version. before is the version of --from; by default it is the active version, or the version before it if candidate
// is nil.
func comparedVersions(ctx context.Context, s *app.Session, candidate *policy.Policy, from string) (before, after *policy.Policy, err error) {
	active, previous, err := lastMove(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	digest := active
	if after = candidate; candidate == nil {
		digest = previous
		if after, err = s.Store.Policy(ctx, active); err != nil {
			return nil, nil, err
		}
	}
	if from != "" {
		if digest, err = expectedVersion(ctx, s, from); err != nil {
			return nil, nil, err
		}
	}
	before, err = s.Store.Policy(ctx, digest)
	return before, after, err
}

// lastMove returns the digests of the active version and of the version that was active before
// it. A digest is "" if there is no such version.
func lastMove(ctx context.Context, s *app.Session) (active, before string, err error) {
	pointer, ok, err := s.Store.ActivePolicy(ctx)
	if err != nil || !ok {
		return "", "", err
	}
	moves, err := s.Store.PolicyHistory(ctx, 1)
	if err == nil && len(moves) == 1 && moves[0].Digest == pointer.Digest {
		before = moves[0].Before
	}
	return pointer.Digest, before, err
}

var digestLike = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

// findVersion returns the digest that begins with prefix.
func findVersion(ctx context.Context, s *app.Session, prefix string) (string, error) {
	if !digestLike.MatchString(prefix) {
		return "", app.Usage(errors.New("a version is the first 8 to 64 characters of its digest; `pawl policy history` lists them"))
	}
	found, err := s.Store.PolicyVersions(ctx, prefix)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fmt.Errorf("no version %s is stored; `pawl policy history` lists them", prefix)
	case len(found) > 1:
		return "", fmt.Errorf("%s matches more than one version; give more characters", prefix)
	}
	return found[0], nil
}

// expectedVersion is findVersion, but returns the empty digest for `none`.
func expectedVersion(ctx context.Context, s *app.Session, named string) (string, error) {
	if named == noPolicy {
		return "", nil
	}
	return findVersion(ctx, s, named)
}

func short(digest string) string {
	if digest == "" {
		return noPolicy
	}
	return digest[:min(len(digest), shortDigest)]
}

// shiftView is a review.Shift in the form that --json prints.
type shiftView struct {
	Tenant string `json:"tenant"`
	Tool   string `json:"tool"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Rule is the rule that decides after the change.
	Rule string `json:"rule"`
}

func printDifference(a *app.App, before, after *policy.Policy, specs []toolspec.Spec) error {
	changes := review.Diff(before, after)
	var shifts []shiftView
	for _, s := range review.Shifts(before, after, specs) {
		shifts = append(shifts, shiftView{Tenant: s.TenantID, Tool: s.ToolID, Before: verdict(s.Before), After: verdict(s.After), Rule: s.After.Rule})
	}
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]any{
			"from": before.Digest(), "to": after.Digest(), "changes": app.NonNil(changes), "tools": app.NonNil(shifts),
		})
	}
	if len(changes) == 0 {
		fmt.Fprintf(a.Out, "%s  has the same content\n", short(after.Digest()))
		return nil
	}
	fmt.Fprintf(a.Out, "--- %s\n+++ %s\n", short(before.Digest()), short(after.Digest()))
	for _, c := range changes {
		fmt.Fprintln(a.Out, app.Printable(c.Path))
		for _, entry := range c.Removed {
			fmt.Fprintln(a.Out, "  - "+app.OneLine(entry, 400))
		}
		for _, entry := range c.Added {
			fmt.Fprintln(a.Out, "  + "+app.OneLine(entry, 400))
		}
	}
	if len(shifts) == 0 {
		fmt.Fprintln(a.Out, "\nthe verdict changes for no published tool (judged without arguments)")
		return nil
	}
	fmt.Fprintln(a.Out, "\npublished tools whose verdict changes (judged without arguments):")
	var rows [][]string
	for _, s := range shifts {
		rows = append(rows, []string{s.Tenant, s.Tool, s.Before, s.After, s.Rule})
	}
	app.PrintTable(a.Out, "  ", []string{"TENANT", "TOOL", "BEFORE", "AFTER", "BY"}, rows)
	return nil
}

// verdict returns a decision in a few words.
func verdict(d policy.Decision) string {
	switch {
	case d.Undetermined:
		return "depends on the arguments"
	case d.Verb == policy.Allow:
		return "allowed"
	case d.Verb == policy.RequireApproval:
		return "asked"
	default:
		return "denied"
	}
}
