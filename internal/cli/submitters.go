package cli

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/identities"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// maxKeyName bounds the name of a key, in bytes.
const maxKeyName = 100

func newSubmitters(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "submitters", Short: "Say which keys may vouch for the subject of a call"}
	cmd.AddCommand(&cobra.Command{
		Use: "new NAME FILE", Short: "Make a key, write its private half into a new file and register the public one",
		Args: ExactArgs(2, "a name and a file that does not exist yet"),
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
			return withStore(cmd.Context(), func(s *session) error {
				if err := writeKey(args[1], private); err != nil {
					return err
				}
				return a.addSubmitter(cmd, s, args[0], signer.Key().Bytes())
			})
		},
	}, &cobra.Command{
		Use: "add NAME FILE", Short: "Register a public key, PEM of Ed25519", Args: ExactArgs(2, "a name and a file with a public key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkKeyName(args[0]); err != nil {
				return err
			}
			text, err := readKey(args[1], a.In)
			if err != nil {
				return err
			}
			public, err := proof.ParseKey(text)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), func(s *session) error {
				return a.addSubmitter(cmd, s, args[0], public.Bytes())
			})
		},
	}, newSubmittersRemove(a), newSubmittersList(a))
	return group(cmd)
}

func (a *App) addSubmitter(cmd *cobra.Command, s *session, name string, public ed25519.PublicKey) error {
	keyID, added, err := s.store.AddSubmitter(cmd.Context(), a.tenant, name, public, DefaultApprover())
	if err != nil {
		return err
	}
	if !added {
		return fmt.Errorf("tenant %s had the key %s before; one that was removed cannot come back, so make another", a.tenant, keyID)
	}
	if a.JSON {
		return PrintJSON(a.Out, map[string]string{"tenant": a.tenant, "keyId": keyID, "name": name})
	}
	fmt.Fprintf(a.Out, "%s: %s may vouch for subjects with the key %s\n", a.tenant, toolspec.Quoted(name), keyID)
	return nil
}

func newSubmittersRemove(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "remove KEY", Short: "Let a key vouch for nobody any more, in calls that wait too", Args: ExactArgs(1, "the id of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				err := s.store.RevokeSubmitter(cmd.Context(), a.tenant, args[0], DefaultApprover())
				if errors.Is(err, postgres.ErrNotFound) {
					return fmt.Errorf("tenant %s has no such key that counts; `pawl submitters list` shows its keys", a.tenant)
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return PrintJSON(a.Out, map[string]string{"tenant": a.tenant, "removed": args[0]})
				}
				fmt.Fprintf(a.Out, "%s: the key %s vouches for nobody any more\n", a.tenant, Printable(args[0]))
				return nil
			})
		},
	}
}

func newSubmittersList(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenant's keys", Args: ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				keys, err := s.store.Submitters(cmd.Context(), a.tenant)
				if err != nil {
					return err
				}
				nothing := fmt.Sprintf("tenant %s trusts no submitter: no call has a subject", a.tenant)
				return tabled(a, keys, nothing, []string{"KEY", "NAME", "ADDED", "BY", "STATE"}, func(k identities.Submitter) []string {
					state := "counts"
					if k.RevokedAt != nil {
						state = "removed " + clockTime(*k.RevokedAt) + " by " + k.RevokedBy
					}
					return []string{k.KeyID, name(k.Name), clockTime(k.AddedAt), name(k.AddedBy), state}
				})
			})
		},
	}
}

func checkKeyName(name string) error {
	if len(name) > maxKeyName {
		return usageError{fmt.Errorf("a name has at most %d bytes", maxKeyName)}
	}
	if err := toolspec.CheckVisible("the name", name, maxKeyName); err != nil {
		return usageError{err}
	}
	return nil
}

func readPrivateKey(file string) (ed25519.PrivateKey, error) {
	text, err := readKey(file, nil)
	if err != nil {
		return nil, err
	}
	signer, err := proof.ParseSigner(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return signer.Private(), nil
}
