package approvals

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/oidc"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// maxIDToken is the maximum size of an ID token file, in bytes. A longer file is cut.
const maxIDToken = 64 << 10

// proving holds the flags with which an approver proves a decision.
type proving struct {
	keyFile, tokenFile string
	// seenDigest is the digest of the request that the approver has seen, or "". A request with another digest is not
	// decided.
	seenDigest string
	printNonce bool
	in         io.Reader
}

func (p *proving) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.keyFile, "key", "", "`FILE` of the private key to sign with ("+app.KeyFileEnv+"); default the key of pawl keys new, if it exists")
	cmd.Flags().StringVar(&p.tokenFile, "id-token", "", "`FILE` with an OpenID Connect ID token, which proves the decision instead of a key; - reads standard input")
	cmd.Flags().BoolVar(&p.printNonce, "print-nonce", false, "only print the nonce that the ID token for this decision must have")
	cmd.Flags().StringVar(&p.seenDigest, "digest", "", "refuse to decide if the request has another digest")
}

// check refuses flags that do not fit together, or that do not fit a decision on this number of
// requests.
func (p *proving) check(requests int) error {
	switch {
	case requests > 1 && p.seenDigest != "":
		return app.Usage(errors.New("--digest belongs to one request: decide on one request only"))
	case requests > 1 && (p.tokenFile != "" || p.printNonce):
		return app.Usage(errors.New("an ID token is for one decision: decide on one request only"))
	case p.tokenFile != "" && (p.keyFile != "" || p.printNonce):
		return app.Usage(errors.New("--id-token cannot be combined with --key or --print-nonce"))
	}
	return nil
}

// token reads the ID token for a decision. It returns an error for the token of another decision,
// because that token would not count.
func (p *proving) token(d toolspec.Decision) (string, error) {
	in := p.in
	if p.tokenFile != "-" {
		f, err := os.Open(p.tokenFile)
		if err != nil {
			return "", fmt.Errorf("the ID token: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxIDToken))
	if err != nil {
		return "", fmt.Errorf("the ID token: %w", err)
	}
	want, err := proof.Hash(d)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	switch oidc.Nonce(token) {
	case want:
		return token, nil
	case "":
		return "", errors.New("the ID token has no nonce: sign in with the nonce that --print-nonce prints")
	}
	return "", errors.New("the ID token is for another decision: sign in with the nonce that --print-nonce prints for these flags")
}

// printNonce prints the nonce that the ID token for the decision must contain.
func printNonce(a *app.App, cmd *cobra.Command, p proving, d toolspec.Decision) error {
	s, err := app.Connect(cmd.Context(), app.Servers{Database: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, d, err = addressDecision(cmd.Context(), s, a.Tenant, p.seenDigest, d); err != nil {
		return err
	}
	nonce, err := proof.Hash(d)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]any{"approvalId": d.ApprovalID, "nonce": nonce, "decision": d})
	}
	fmt.Fprintln(a.Out, nonce)
	return nil
}
