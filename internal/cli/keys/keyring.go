package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/seal"
)

// ringSettles is the minimum time since the last change of a key ring before a key is removed
// from it. By then, workers have loaded the changed ring, and the secrets that they sealed with
// the earlier ring are committed.
const ringSettles = 10 * time.Second

// wrappedSettles is ringSettles for a ring that a KMS unwraps. A worker waits up to fifteen
// seconds for a KMS that does not answer.
const wrappedSettles = 30 * time.Second

func newKeyring(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "keyring", Short: "Manage the key ring, which seals the credentials of connections",
		Long: "A key ring is a file with keys. One key seals new secrets, and all keys open sealed secrets. To change the\n" +
			"key that seals:\n\n" +
			"  pawl keyring add FILE            # add a key that only opens; give the file to every worker\n" +
			"  pawl keyring promote FILE KEY    # make the key seal; give the file to every worker\n" +
			"  pawl keyring rotate FILE         # reseal all secrets with the new key, while calls run\n" +
			"  pawl keyring retire FILE KEY     # remove the old key, when no secret is sealed with it\n\n" +
			"Workers read a changed file (PAWL_KEYRING_FILE) within a second. The file and the database together give access\n" +
			"to the credentials. Without the file, the credentials are lost. A ring that a key of a KMS wraps (--kms) also needs\n" +
			"that key.",
	}
	cmd.AddCommand(newKeyringNew(a), newKeyringList(a), newKeyringAdd(a), newKeyringPromote(a), newKeyringRotate(a), newKeyringRetire(a),
		newKeyringWrap(a), newKeyringUnwrap(a))
	return app.Group(cmd)
}

func newKeyringNew(a *app.App) *cobra.Command {
	var (
		key  string
		keep bool
	)
	cmd := &cobra.Command{
		Use: "new FILE", Short: "Create a key ring with one key", Args: app.ExactArgs(1, "a file that does not exist yet"),
		RunE: func(_ *cobra.Command, args []string) error {
			if keep {
				if ring, err := seal.Load(args[0], a.Wrapper); !errors.Is(err, fs.ErrNotExist) {
					if err != nil {
						return err
					}
					return printKeys(a, ring, nil)
				}
			}
			ring, err := seal.New()
			if err == nil {
				ring, err = ring.Wrap(key)
			}
			if err != nil {
				return err
			}
			err = seal.Create(args[0], ring, a.Wrapper)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists: a key ring is never replaced, because the secrets sealed with its keys would be lost", args[0])
			}
			if err != nil {
				return err
			}
			return printKeys(a, ring, nil)
		},
	}
	kmsFlag(cmd, &key)
	cmd.Flags().BoolVar(&keep, "keep", false, "if FILE is a key ring already, keep it: for scripts that run at each start")
	return cmd
}

func newKeyringList(a *app.App) *cobra.Command {
	var count bool
	cmd := &cobra.Command{
		Use: "list FILE", Short: "List the keys of a key ring, without the secret material", Args: app.ExactArgs(1, "the file of a key ring"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ring, err := seal.Load(args[0], a.Wrapper)
			if err != nil {
				return err
			}
			if !count {
				return printKeys(a, ring, nil)
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				uses, err := s.Store.SecretsByKey(cmd.Context())
				if err != nil {
					return err
				}
				return printKeys(a, ring, app.NonNil(uses))
			})
		},
	}
	cmd.Flags().BoolVar(&count, "count", false, "count the secrets in the database per key, also for keys that are not in the ring")
	return cmd
}

// keyLine is a key in the list of keys.
type keyLine struct {
	seal.Key
	// Secrets is the number of secrets that the key has sealed, or nil without --count.
	Secrets *int64 `json:"secrets,omitempty"`
	// Missing says that the ring does not have the key.
	Missing bool `json:"missing,omitempty"`
}

// printKeys lists the keys of a ring. If uses is not nil, it says how many secrets each key has
// sealed.
func printKeys(a *app.App, ring *seal.Ring, uses []connections.KeyUse) error {
	var lines []keyLine
	for _, k := range ring.Keys() {
		line := keyLine{Key: k}
		if uses != nil {
			n := secretsOf(uses, k.ID)
			line.Secrets = &n
		}
		lines = append(lines, line)
	}
	for _, u := range uses {
		if !slices.ContainsFunc(ring.Keys(), func(k seal.Key) bool { return k.ID == u.KeyID }) {
			lines = append(lines, keyLine{Key: seal.Key{ID: u.KeyID}, Secrets: &u.Secrets, Missing: true})
		}
	}
	headings := []string{"KEY", "DOES"}
	if uses != nil {
		headings = append(headings, "SECRETS")
	}
	if key := ring.WrappedBy(); key != "" && !a.JSON {
		fmt.Fprintf(a.Err, "wrapped by %s\n", key)
	}
	return app.PrintRows(a, lines, "", headings, func(l keyLine) []string {
		does := "opens"
		switch {
		case l.Seals:
			does = "seals and opens"
		case l.Missing:
			does = "is not in this key ring: what it has sealed does not open"
		}
		cells := []string{strconv.FormatInt(l.ID, 10), does}
		if l.Secrets != nil {
			cells = append(cells, strconv.FormatInt(*l.Secrets, 10))
		}
		return cells
	})
}

func secretsOf(uses []connections.KeyUse, keyID int64) int64 {
	for _, u := range uses {
		if u.KeyID == keyID {
			return u.Secrets
		}
	}
	return 0
}

func newKeyringAdd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "add FILE", Short: "Add a new key that opens secrets but does not seal yet", Args: app.ExactArgs(1, "the file of a key ring"),
		RunE: func(_ *cobra.Command, args []string) error {
			var keyID int64
			err := seal.Change(args[0], a.Wrapper, func(r *seal.Ring) (added *seal.Ring, err error) {
				added, keyID, err = r.Add()
				return added, err
			})
			if err != nil {
				return err
			}
			if a.JSON {
				return app.PrintJSON(a.Out, map[string]any{"file": args[0], "keyId": keyID})
			}
			fmt.Fprintln(a.Out, keyID)
			fmt.Fprintf(a.Err, "give this ring to every worker, then make the key seal: pawl keyring promote %s %d\n", args[0], keyID)
			return nil
		},
	}
}

func newKeyringPromote(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "promote FILE KEY", Short: "Make a key the one that seals new secrets", Args: app.ExactArgs(2, "the file of a key ring and the id of a key"),
		RunE: func(_ *cobra.Command, args []string) error {
			keyID, err := ringKey(args[1])
			if err != nil {
				return err
			}
			if err := seal.Change(args[0], a.Wrapper, func(r *seal.Ring) (*seal.Ring, error) { return r.Promote(keyID) }); err != nil {
				return err
			}
			if a.JSON {
				return app.PrintJSON(a.Out, map[string]any{"file": args[0], "keyId": keyID, "seals": true})
			}
			fmt.Fprintf(a.Out, "the key %d now seals new secrets\n", keyID)
			fmt.Fprintf(a.Err, "give the ring to every worker, then reseal the other secrets: pawl keyring rotate %s\n", args[0])
			return nil
		},
	}
}

// ringKey parses the id of a key.
func ringKey(text string) (int64, error) {
	keyID, err := strconv.ParseInt(text, 10, 64)
	if err != nil || keyID < 1 {
		return 0, app.Usage(errors.New("a key is named by its number; `pawl keyring list` shows the numbers"))
	}
	return keyID, nil
}

func newKeyringRetire(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "retire FILE KEY", Short: "Remove a key that no stored secret needs",
		Long: "Remove a key from a key ring. The command refuses while the database has a secret that is sealed with the key.\n" +
			"After a change of the ring, it first waits until workers have read the file: ten seconds, or thirty seconds for a\n" +
			"ring that a KMS wraps.\n\n" +
			"If several databases use the ring, check each of them. Every worker must already have the ring in which another\n" +
			"key seals; a worker that cannot read the ring says so in its log. A copy of the database from before the rotation\n" +
			"opens only with the old key: keep the key with the copy.",
		Args: app.ExactArgs(2, "the file of a key ring and the id of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			keyID, err := ringKey(args[1])
			if err != nil {
				return err
			}
			ring, err := seal.Load(args[0], a.Wrapper)
			if err == nil {
				_, err = ring.Remove(keyID)
			}
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				// This check runs before the wait too, so that a key in use is reported at once.
				if err := checkUnused(cmd, s, keyID); err != nil {
					return err
				}
				info, err := os.Stat(args[0])
				if err != nil {
					return err
				}
				settles := ringSettles
				if ring.WrappedBy() != "" {
					settles = wrappedSettles
				}
				if wait := min(settles-time.Since(info.ModTime()), settles); wait > 0 {
					fmt.Fprintf(a.Err, "the key ring was changed a moment ago; checking again in %s\n", wait.Round(time.Second))
					select {
					case <-time.After(wait):
					case <-cmd.Context().Done():
						return cmd.Context().Err()
					}
				}
				err = seal.Change(args[0], a.Wrapper, func(r *seal.Ring) (*seal.Ring, error) {
					if err := checkUnused(cmd, s, keyID); err != nil {
						return nil, err
					}
					return r.Remove(keyID)
				})
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"file": args[0], "retired": keyID})
				}
				fmt.Fprintf(a.Out, "the key %d is removed from the ring\n", keyID)
				return nil
			})
		},
	}
}

// checkUnused returns an error if the key has sealed a secret.
func checkUnused(cmd *cobra.Command, s *app.Session, keyID int64) error {
	uses, err := s.Store.SecretsByKey(cmd.Context())
	if err != nil {
		return err
	}
	if n := secretsOf(uses, keyID); n > 0 {
		return fmt.Errorf("the key %d is in use: %d secrets are sealed with it and could never be opened again; reseal them with `pawl keyring rotate`", keyID, n)
	}
	return nil
}
