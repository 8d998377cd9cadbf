package operations

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/internal/devstate"
	"github.com/pawl-run/pawl/internal/oidc"
	"github.com/pawl-run/pawl/internal/secretfile"
	"github.com/pawl-run/pawl/worker"
)

// viewers implements runhttp.Authenticator for people who have an ID token.
type viewers struct{ verifier *oidc.Verifier }

// idTokenViewers returns an Authenticator that accepts ID tokens of the issuers, which are also the issuers for
// approvers. who names these people in words. The caller must call end when the server has stopped.
func idTokenViewers(issuers []worker.OIDCIssuer) (by runhttp.Authenticator, who string, end func(), err error) {
	trusted := make([]oidc.Issuer, len(issuers))
	names := make([]string, len(issuers))
	for n, i := range issuers {
		trusted[n], names[n] = oidc.Issuer(i), i.Name
	}
	verifier, err := oidc.New(trusted...)
	if err != nil {
		return nil, "", nil, fmt.Errorf("config: PAWL_OIDC_*: %w", err)
	}
	return viewers{verifier}, "people with ID tokens of " + strings.Join(names, ", "), verifier.Close, nil
}

// Authenticate implements runhttp.Authenticator.
func (v viewers) Authenticate(ctx context.Context, tenantID, token string) (runhttp.Viewer, error) {
	identity, expires, fault, err := v.verifier.Viewer(ctx, tenantID, token, time.Now())
	switch {
	case err != nil:
		return runhttp.Viewer{}, err
	case fault != "":
		return runhttp.Viewer{}, fmt.Errorf("%w: %s", runhttp.ErrUnauthenticated, fault)
	}
	return runhttp.Viewer{Identity: identity, Expires: expires}, nil
}

// owner implements runhttp.Authenticator. It accepts one token, whose digest it has, as the given identity.
type owner struct {
	identity string
	digest   [sha256.Size]byte
}

// devTokenName is the name of the token file in the directory of a `pawl dev`.
const devTokenName = "watch-token"

// ownerOfFile returns an Authenticator that accepts the bearer token in file as the identity, and a text that names
// both. It creates the file, with a random token, if the file does not exist. If file is "", it uses the token file of
// the `pawl dev` of this directory.
func ownerOfFile(file, identity string) (by runhttp.Authenticator, who string, err error) {
	if file == "" {
		if file, err = devTokenFile(); err != nil {
			return nil, "", err
		}
	}
	token, err := readOrCreateToken(file)
	if err != nil {
		return nil, "", err
	}
	return owner{identity, sha256.Sum256(token)}, identity + ", with the token in " + file, nil
}

// devTokenFile returns the token file of the `pawl dev` that runs for this directory.
func devTokenFile() (string, error) {
	state, err := devstate.Find()
	if err != nil {
		return "", err
	}
	if state == nil {
		return "", errors.New("no `pawl dev` runs for this directory: start one, or give --token-file")
	}
	place, err := devstate.Dir(state.Dir)
	return filepath.Join(place, devTokenName), err
}

func readOrCreateToken(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.WriteString(f, rand.Text()+"\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	token, err := secretfile.Read(file, maxTokenFile)
	if err != nil {
		return nil, err
	}
	if token = bytes.TrimSpace(token); len(token) < minToken || bytes.ContainsAny(token, " \r\n") {
		return nil, fmt.Errorf("%s must hold one token of at least %d characters: delete it, and a new token is created", file, minToken)
	}
	return token, nil
}

// Authenticate implements runhttp.Authenticator.
func (o owner) Authenticate(_ context.Context, _, token string) (runhttp.Viewer, error) {
	digest := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(digest[:], o.digest[:]) != 1 {
		return runhttp.Viewer{}, runhttp.ErrUnauthenticated
	}
	return runhttp.Viewer{Identity: o.identity}, nil
}

// serveLog returns the logger of a server. The server logs failures, and not requests.
func serveLog(to io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }
