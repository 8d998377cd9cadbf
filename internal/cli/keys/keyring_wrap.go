package keys

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/seal"
)

// kmsFlag defines the flag --kms for a key of a KMS.
func kmsFlag(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(key, "kms", "", "key of a KMS that encrypts the ring, such as gcp-kms://projects/…; only in programs with a KMS client, such as pawl-kms")
}

func newKeyringWrap(a *app.App) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "wrap FILE --kms KEY", Short: "Encrypt a key ring with a key of a KMS, or with another key of a KMS",
		Long: "Encrypt a key ring with a key of a key management service (KMS). The file alone is then useless.\n" +
			"Workers ask the KMS when they start and when the file changes, not for each call. Every worker must be able\n" +
			"to use the KMS before you wrap the ring. Earlier copies of the file stay unencrypted: if somebody may have\n" +
			"read them, promote a new key and retire the old key. Without the key of the KMS, the ring is lost.",
		Args: app.ExactArgs(1, "the file of a key ring"),
		RunE: func(_ *cobra.Command, args []string) error {
			if key == "" {
				return app.Usage(errors.New("--kms is missing: name the key that encrypts the ring"))
			}
			return wrapRing(a, args[0], key)
		},
	}
	kmsFlag(cmd, &key)
	return cmd
}

func newKeyringUnwrap(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "unwrap FILE", Short: "Decrypt a key ring that a key of a KMS wraps",
		Args: app.ExactArgs(1, "the file of a key ring"),
		RunE: func(_ *cobra.Command, args []string) error { return wrapRing(a, args[0], "") },
	}
}

// wrapRing wraps the ring in file with a key of a KMS. If key is empty, it stores the ring in
// clear.
func wrapRing(a *app.App, file, key string) error {
	if err := seal.Change(file, a.Wrapper, func(r *seal.Ring) (*seal.Ring, error) { return r.Wrap(key) }); err != nil {
		return err
	}
	switch {
	case a.JSON:
		return app.PrintJSON(a.Out, map[string]string{"file": file, "wrappedBy": key})
	case key == "":
		fmt.Fprintf(a.Out, "%s is not encrypted now: the file alone gives access to its keys\n", file)
	default:
		fmt.Fprintf(a.Out, "%s is wrapped by %s\n", file, key)
	}
	return nil
}
