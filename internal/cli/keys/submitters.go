package keys

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/identities"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// maxKeyName is the maximum length of the name of a key, in bytes.
const maxKeyName = 100

func newSubmitters(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "submitters", Short: "Manage submitter keys, which prove the subject of a call"}
	cmd.AddCommand(&cobra.Command{
		Use: "new NAME FILE", Short: "Create a key pair, write the private key into a new file and register the public key",
		Args: app.ExactArgs(2, "a name and a file that does not exist yet"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkKeyName(args[0]); err != nil {
				return err
			}
			signer, err := proof.NewSigner()
			if err != nil {
				return err
			}
			private, err := signer.Encode()
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				if err := writeKey(args[1], private); err != nil {
					return err
				}
				return addSubmitter(a, cmd, s, args[0], signer.Key().Bytes())
			})
		},
	}, &cobra.Command{
		Use: "add NAME FILE", Short: "Register an Ed25519 public key from a PEM file", Args: app.ExactArgs(2, "a name and a file with a public key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkKeyName(args[0]); err != nil {
				return err
			}
			public, err := readPublicKey(a, args[1])
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				return addSubmitter(a, cmd, s, args[0], public.Bytes())
			})
		},
	}, newSubmittersRemove(a), newSubmittersList(a))
	return app.Group(cmd)
}

func addSubmitter(a *app.App, cmd *cobra.Command, s *app.Session, name string, public ed25519.PublicKey) error {
	keyID, added, err := s.Store.AddSubmitter(cmd.Context(), a.Tenant, name, public, app.DefaultApprover())
	if err != nil {
		return err
	}
	if !added {
		return fmt.Errorf("tenant %s had the key %s before: a removed key cannot be added again, so create another key", a.Tenant, keyID)
	}
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]string{"tenant": a.Tenant, "keyId": keyID, "name": name})
	}
	fmt.Fprintf(a.Out, "%s: %s may prove subjects with the key %s\n", a.Tenant, toolspec.Quoted(name), keyID)
	return nil
}

func newSubmittersRemove(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove KEY", Short: "Remove a submitter key; calls that wait are judged again", Args: app.ExactArgs(1, "the id of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				err := s.Store.RevokeSubmitter(cmd.Context(), a.Tenant, args[0], app.DefaultApprover())
				if errors.Is(err, postgres.ErrNotFound) {
					return fmt.Errorf("tenant %s has no such active key; `pawl submitters list` shows its keys", a.Tenant)
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]string{"tenant": a.Tenant, "removed": args[0]})
				}
				fmt.Fprintf(a.Out, "%s: the key %s is removed and proves no more subjects\n", a.Tenant, app.Printable(args[0]))
				return nil
			})
		},
	}
}

func newSubmittersList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenant's keys", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				keys, err := s.Store.Submitters(cmd.Context(), a.Tenant)
				if err != nil {
					return err
				}
				nothing := fmt.Sprintf("tenant %s trusts no submitter: no call has a subject", a.Tenant)
				return app.PrintRows(a, keys, nothing, []string{"KEY", "NAME", "ADDED", "BY", "STATE"}, func(k identities.Submitter) []string {
					state := "counts"
					if k.RevokedAt != nil {
						state = "removed " + app.FormatTime(*k.RevokedAt) + " by " + k.RevokedBy
					}
					return []string{k.KeyID, app.QuoteName(k.Name), app.FormatTime(k.AddedAt), app.QuoteName(k.AddedBy), state}
				})
			})
		},
	}
}

func checkKeyName(name string) error {
	if len(name) > maxKeyName {
		return app.Usage(fmt.Errorf("a name has at most %d bytes", maxKeyName))
	}
	if err := toolspec.CheckVisible("the name", name, maxKeyName); err != nil {
		return app.Usage(err)
	}
	return nil
}
