package keys

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/oidc"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/identities"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

func newKeys(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Manage the keys with which approvers sign their decisions",
		Long: "An approver makes a key pair with `pawl keys new` and keeps the private key. A person with access to the\n" +
			"database registers the public key with `pawl keys register`. From then on `pawl approve` signs with the private key.",
	}
	cmd.AddCommand(newKeysNew(a), newKeysRegister(a), newKeysList(a), newKeysRevoke(a))
	return app.Group(cmd)
}

func newKeysNew(a *app.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "new", Short: "Create a key pair and print the public key", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if file = cmp.Or(file, app.DefaultKeyFile()); file == "" {
				return app.Usage(errors.New("--out is missing, and there is no home directory for the key"))
			}
			signer, err := proof.NewSigner()
			if err != nil {
				return err
			}
			private, err := signer.Encode()
			if err != nil {
				return err
			}
			public, err := signer.Key().Encode()
			if err != nil {
				return err
			}
			if err := writeKey(file, private); err != nil {
				return err
			}
			if a.JSON {
				return app.PrintJSON(a.Out, map[string]string{"keyId": signer.Key().ID(), "file": file, "publicKey": string(public)})
			}
			fmt.Fprintf(a.Err, "key %s\nthe private key is in %s; it signs in your name, so keep it secret\nregister the public key: pawl keys register --identity user:YOU FILE\n", signer.Key().ID(), file)
			_, err = a.Out.Write(public)
			return err
		},
	}
	cmd.Flags().StringVar(&file, "out", "", "file for the private key ("+app.KeyFileEnv+"); default pawl/approver.pem in the user's configuration directory")
	return cmd
}

// writeKey creates a file that only its owner can read. It never replaces a file.
func writeKey(file string, private []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: a key is never replaced, so move the file or name another one", file)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(private)
	return errors.Join(err, f.Sync(), f.Close())
}

// readPublicKey reads a public key from a file, or from the input if the file is -.
func readPublicKey(a *app.App, file string) (proof.Key, error) {
	text, err := app.ReadKey(file, a.In)
	if err != nil {
		return proof.Key{}, err
	}
	return proof.ParseKey(text)
}

func newKeysRegister(a *app.App) *cobra.Command {
	var identity, by string
	cmd := &cobra.Command{
		Use: "register --identity ID FILE", Short: "Register the public key of an identity of the tenant; - reads it from standard input",
		Args: app.ExactArgs(1, "the file of a public key, as `pawl keys new` prints it, or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if identity == "" {
				return app.Usage(errors.New("--identity is missing: name the owner of the key"))
			}
			if err := toolspec.CheckIdentity(identity); err != nil {
				return app.Usage(err)
			}
			if strings.HasPrefix(identity, oidc.Prefix) {
				return app.Usage(fmt.Errorf("identities that begin with %s belong to ID tokens and cannot have keys", oidc.Prefix))
			}
			key, err := readPublicKey(a, args[0])
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				err := s.Store.RegisterKey(cmd.Context(), a.Tenant, identity, key, by)
				if errors.Is(err, identities.ErrKeyTaken) {
					return fmt.Errorf("the key %s belongs to another identity or was revoked: `pawl keys list` shows it, `pawl keys new` creates another key", key.ID())
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]string{"tenant": a.Tenant, "identity": identity, "keyId": key.ID()})
				}
				fmt.Fprintf(a.Out, "%s of tenant %s may sign with %s\n", app.QuoteName(identity), a.Tenant, key.ID())
				return nil
			})
		},
	}
	app.IdentityVar(cmd.Flags(), &identity, "identity", "", "the owner of the key, such as user:ann")
	app.ByFlag(cmd, &by, "registers")
	return cmd
}

func newKeysList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenant's keys", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				keys, err := s.Store.Keys(cmd.Context(), a.Tenant)
				if err != nil {
					return err
				}
				nothing := "no keys; `pawl keys new` makes one, `pawl keys register` registers it"
				return app.PrintRows(a, keys, nothing, []string{"IDENTITY", "KEY", "STATE"}, func(k identities.KeyRecord) []string {
					state := "registered " + app.FormatTime(k.RegisteredAt) + " by " + k.RegisteredBy
					if k.RevokedAt != nil {
						state = "revoked " + app.FormatTime(*k.RevokedAt) + " by " + k.RevokedBy
					}
					return []string{app.QuoteName(k.Identity), k.KeyID, state}
				})
			})
		},
	}
}

func newKeysRevoke(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "revoke KEY", Short: "Revoke a key; this cannot be undone", Args: app.ExactArgs(1, "a key id; `pawl keys list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				identity, revoked, err := s.Store.RevokeKey(cmd.Context(), a.Tenant, args[0], by)
				if errors.Is(err, postgres.ErrNotFound) {
					return fmt.Errorf("the tenant %s has no key %q; `pawl keys list` shows its keys", a.Tenant, args[0])
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "identity": identity, "keyId": args[0], "revoked": revoked})
				}
				if !revoked {
					fmt.Fprintf(a.Out, "%s was revoked before\n", args[0])
					return nil
				}
				fmt.Fprintf(a.Out, "%s is revoked; decisions that counted before still count\n", args[0])
				return nil
			})
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return app.Usage(fmt.Errorf("%w; write -- before an id that begins with a dash", err))
	})
	app.ByFlag(cmd, &by, "revokes")
	return cmd
}
