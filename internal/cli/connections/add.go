package connections

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/connections"
)

// maxScope is the maximum length of the name of a scope, in bytes.
const maxScope = 200

func newConnectionsAdd(a *app.App) *cobra.Command {
	var name, file, ring, by string
	var hosts, scopes []string
	var secrets secretFlags
	cmd := &cobra.Command{
		Use: "add ID --provider NAME", Short: "Add a connection with its credential",
		Long: "Add a connection. The credential is read from files, the environment or standard input, and is stored\n" +
			"sealed. No command prints it. The id is recorded in calls and cannot be used again for another connection.\n\n" +
			"  pawl connections add gh-main --provider github --secret-file token.txt\n" +
			"  pass show jira | pawl connections add jira --provider atlassian --host acme.atlassian.net \\\n" +
			"      --secret-env username=JIRA_USER --secret-stdin password\n\n" +
			"A new connection has no grants: `pawl connections grant` adds them.",
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "" {
				return app.Usage(errors.New("--provider is missing; `pawl connections providers` lists them"))
			}
			p, err := provider(name, file)
			if err != nil {
				return err
			}
			if len(hosts) > 0 {
				p.Hosts = hosts
				if err := p.Check(); err != nil {
					return app.Usage(fmt.Errorf("--host: %w", err))
				}
			}
			if len(scopes) == 0 && p.OAuth2 != nil {
				scopes = p.OAuth2.Scopes
			}
			if err := checkScopes(scopes); err != nil {
				return app.Usage(fmt.Errorf("--scope: %w", err))
			}
			credential, err := readCredential(a, &secrets, p)
			if err != nil {
				return err
			}
			defer credential.Destroy()
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				sealer, err := a.OpenSealer(s, ring)
				if err != nil {
					return err
				}
				at := broker.At(a.Tenant, args[0], p, p.Hosts, 1)
				sealed, err := broker.New(s.Store, sealer, broker.Options{}).Seal(credential, at, time.Time{})
				if err != nil {
					return err
				}
				n := connections.AddRow{Provider: p, Hosts: p.Hosts, Scopes: scopes, Sealed: sealed, SignedIn: p.SignedIn(credential)}
				err = s.Store.AddConnection(cmd.Context(), n, by)
				if errors.Is(err, connections.ErrTaken) {
					return fmt.Errorf("tenant %s has or had a connection %q: choose another id, or replace its secret with `pawl connections rotate`", a.Tenant, args[0])
				}
				if err != nil {
					return err
				}
				c, err := findConnection(cmd.Context(), a, s, args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, c)
				}
				fmt.Fprintf(a.Out, "%s: %s connects to %s (%s), %s\n", a.Tenant, app.Printable(c.ConnectionID), c.Provider, strings.Join(c.Hosts, ", "), c.Status)
				if c.Status == broker.StatusNeedsReauth {
					fmt.Fprintf(a.Err, "nobody has signed in yet: pawl connections signin %s\n", app.Printable(c.ConnectionID))
				}
				fmt.Fprintf(a.Err, "the connection has no grants yet: pawl connections grant %s --to user:NAME\n", app.Printable(c.ConnectionID))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "provider", "", "`name` of the service; pawl connections providers lists them")
	providersFlag(cmd, &file)
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "host to which the credential may be sent, instead of the provider's hosts: host, host:port or *.domain. May be repeated")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "scope that the account has at the service. May be repeated")
	secrets.add(cmd)
	app.KeyRingFlag(cmd, &ring)
	app.ByFlag(cmd, &by, "adds")
	return cmd
}

// readCredential reads the parts of the credential that a provider needs. The caller must destroy
// the credential.
func readCredential(a *app.App, f *secretFlags, p broker.Provider) (broker.Credential, error) {
	signers, err := broker.NewSigners()
	if err != nil {
		return broker.Credential{}, err
	}
	required, optional, err := p.Parts(signers)
	// After an error, the signer of the provider is part of the user's own worker, and this program does not know
	// which parts the signer needs.
	partsUnknown := err != nil
	if f.none() {
		if partsUnknown {
			required = []string{"what the signer " + p.Signer + " wants"}
		}
		return broker.Credential{}, errNoSecret(required, optional)
	}
	credential, err := f.read(a, required, optional)
	// With --keep the credential is not complete yet: the function keep adds the other parts and checks it.
	if err != nil || partsUnknown || len(f.keep) > 0 {
		return credential, err
	}
	if err := p.CheckCredential(credential, signers); err != nil {
		credential.Destroy()
		return broker.Credential{}, err
	}
	return credential, nil
}

func checkScopes(scopes []string) error {
	if len(scopes) > broker.MaxScopes {
		return fmt.Errorf("there are more than %d", broker.MaxScopes)
	}
	for i, s := range scopes {
		switch {
		case s == "" || len(s) > maxScope || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
			return fmt.Errorf("a scope has 1 to %d printable characters and no space", maxScope)
		case s == broker.AllScopes:
			return errors.New("* is not a scope; `pawl connections grant --all-scopes` grants all scopes")
		case slices.Contains(scopes[:i], s):
			return fmt.Errorf("%s is given twice", s)
		}
	}
	return nil
}

func newConnectionsRotate(a *app.App) *cobra.Command {
	var ring, by string
	var secrets secretFlags
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace the secret of a connection",
		Long: "Replace the secret of a connection. The new secret may belong to another account, so approvals of the old\n" +
			"one no longer apply, and a connection that needed a new sign-in is active again. The old secret is deleted.\n" +
			"Attempts that run keep the old secret, and new attempts get the new secret.",
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				b, sealer, now, _, err := openConnection(cmd.Context(), a, s, ring, args[0])
				if err != nil {
					return err
				}
				credential, err := readCredential(a, &secrets, now.Provider)
				if err != nil {
					return err
				}
				defer credential.Destroy()
				if len(secrets.keep) > 0 {
					if credential, err = keep(sealer, now, credential, secrets.keep); err != nil {
						return err
					}
					defer credential.Destroy()
				}
				at := now.Sealed.Binding
				at.Version++
				sealed, err := b.Seal(credential, at, time.Time{})
				if err != nil {
					return err
				}
				replaced, err := s.Store.ReplaceSecret(cmd.Context(), sealed, 0, true, by)
				if err != nil {
					return err
				}
				if !replaced {
					return fmt.Errorf("the secret of %s was replaced or revoked at the same time: check `pawl connections show` and try again", args[0])
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "connectionId": args[0], "secretVersion": at.Version, "generation": now.Generation + 1})
				}
				fmt.Fprintf(a.Out, "%s: %s has a new secret, version %d; the old secret is deleted here: revoke it at the service too\n", a.Tenant, app.Printable(args[0]), at.Version)
				return nil
			})
		},
	}
	secrets.add(cmd)
	cmd.Flags().StringArrayVar(&secrets.keep, "keep", nil, "PART that does not change. May be repeated")
	app.KeyRingFlag(cmd, &ring)
	app.ByFlag(cmd, &by, "rotates")
	return cmd
}

// keep adds the named parts of the old credential, which is sealed in now, to the new credential, and checks the
// result.
func keep(sealer broker.Sealer, now broker.Record, credential broker.Credential, names []string) (broker.Credential, error) {
	signers, err := broker.NewSigners()
	if err != nil {
		return credential, err
	}
	whole, err := credential.Keep(sealer, now.Sealed, names)
	switch {
	case errors.Is(err, broker.ErrSealed):
		return credential, err
	case err != nil:
		return credential, app.Usage(fmt.Errorf("--keep: %w", err))
	}
	if signers[now.Provider.Signer] == nil && now.Provider.Kind == broker.Signed {
		return whole, nil // only the user's own worker knows the parts of this signer
	}
	return whole, now.Provider.CheckCredential(whole, signers)
}
