package audit

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/audit"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/proof"
)

// Commands returns the commands of this package.
func Commands(a *app.App) []*cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Verify the audit trail, export its heads and events",
		Long: "Workers number the events of each tenant and hash them into a chain. With PAWL_AUDIT_KEY they sign its heads.\n" +
			"Events that belong to no tenant, such as changes of the policy, have a chain of their own.",
	}
	cmd.AddCommand(newVerify(a), newHead(a), newExport(a))
	return []*cobra.Command{app.Group(cmd)}
}

// nameOf names a chain in text for people.
func nameOf(tenantID string) string {
	if tenantID == "" {
		return "no tenant"
	}
	return "tenant " + app.QuoteName(tenantID)
}

// maxHeads is the maximum size of a file of exported heads, in bytes.
const maxHeads = 16 << 20

func readHeads(files []string) (heads []audit.Head, err error) {
	for _, name := range files {
		info, err := os.Stat(name)
		if err == nil && info.Size() > maxHeads {
			err = fmt.Errorf("%s is larger than %d bytes", name, maxHeads)
		}
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := audit.ParseHeads(text)
		if err == nil && len(found) == 0 {
			err = errors.New("it has no head")
		}
		if err != nil {
			return nil, fmt.Errorf("--head %s: %w", name, err)
		}
		heads = append(heads, found...)
	}
	return heads, nil
}

func (o verifyFlags) keys(a *app.App) (keys []proof.Key, err error) {
	for _, name := range o.keyFiles {
		text, err := app.ReadKey(name, a.In)
		if err != nil {
			return nil, err
		}
		key, err := proof.ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("--key %s: %w", name, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func newHead(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "head", Short: "Print the last head of each chain, or of that of --tenant, to be kept elsewhere", Args: app.ExactArgs(0, "no arguments"),
		Long: "Print the last head of each chain as JSON lines. A head says which events the chain has had, in a hash. Keep the\n" +
			"heads where nobody who can write to the database can change them: `pawl audit verify --head` finds with them what\n" +
			"was cut off the end of a chain, and a chain that was written anew.",
		Example: "  pawl audit head >> heads.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				var only []string
				if cmd.Flags().Changed("tenant") {
					only = append(only, a.Tenant)
				}
				heads, err := s.Store.AuditHeads(cmd.Context(), only...)
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, app.NonNil(heads))
				}
				if len(heads) == 0 {
					return errors.New("nothing is sealed: a worker seals events within about 10 seconds")
				}
				unsigned := 0
				for _, h := range heads {
					if h.KeyID == "" {
						unsigned++
					}
					if err := printLine(a.Out, h); err != nil {
						return err
					}
				}
				if unsigned > 0 {
					fmt.Fprintf(a.Err, "%d of %d heads are not signed: the workers have no PAWL_AUDIT_KEY\n", unsigned, len(heads))
				}
				return nil
			})
		},
	}
}
