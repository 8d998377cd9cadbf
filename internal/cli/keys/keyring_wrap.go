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
	cmd.Flags().StringVar(key, "kms", "", "key of a KMS that wraps the ring, such as gcp-kms://projects/…; for programs that speak with one, such as pawl-kms")
}

func newKeyringWrap(a *app.App) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "wrap FILE --kms KEY", Short: "Keep a key ring wrapped by a key of a KMS, this one or another",
		Long: "Encrypt a key ring with a key that never leaves a key management service: who has the file alone has nothing.\n" +
			"Workers ask the KMS when they start and when the file changes, not for calls. Every worker must speak with\n" +
			"the KMS before. Copies of the file from before stay what they are: where they may have been read, change the\n" +
			"key that seals and retire the old one. Who loses the key of the KMS has lost the ring.",
		Args: app.ExactArgs(1, "the file of a key ring"),
		RunE: func(_ *cobra.Command, args []string) error {
			if key == "" {
				return app.Usage(errors.New("--kms is missing: which key wraps it?"))
			}
			return wrapRing(a, args[0], key)
		},
	}
	kmsFlag(cmd, &key)
	return cmd
}

func newKeyringUnwrap(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "unwrap FILE", Short: "Keep a key ring in clear that a key of a KMS has wrapped",
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
		fmt.Fprintf(a.Out, "%s is in clear: who has it has its keys\n", file)
	default:
		fmt.Fprintf(a.Out, "%s is wrapped by %s\n", file, key)
	}
	return nil
}
