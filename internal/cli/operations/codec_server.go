package operations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/codec"
	"github.com/pawl-run/pawl/internal/secretfile"
	"github.com/pawl-run/pawl/worker"
)

const (
	// codecTokenEnv is the environment variable with the bearer token of the codec server. It is
	// used if --token-file is not given.
	codecTokenEnv = "PAWL_CODEC_TOKEN"
	// minToken is the minimum length of a bearer token, in bytes.
	minToken     = 16
	maxTokenFile = 64 << 10
)

// codecServed holds the flags of the codec server: its address, and the tokens and origins that may
// use it.
type codecServed struct {
	listenerFlags
	tokens  string
	origins []string
}

func newCodecServer(a *app.App) *cobra.Command {
	var o codecServed
	cmd := &cobra.Command{
		Use:   "codec-server",
		Short: "Let the Temporal UI and CLI read encrypted payloads",
		Long: "Serve Temporal's remote codec protocol: POST /decode and /encode, with the keys of PAWL_CODEC_KEYS_FILE or\n" +
			"PAWL_CODEC_KEYS. A bearer token gives access to every payload of every tenant. By default the server listens\n" +
			"on this machine only. An address that other machines reach needs a certificate, or a proxy with one. The\n" +
			"server logs no request.",
		Example: `  PAWL_CODEC_TOKEN=$(cat token) pawl codec-server --origin http://localhost:8233
  temporal workflow show -w tool:acme:cli:call-1 --codec-endpoint http://127.0.0.1:8234 --codec-auth "Bearer $(cat token)"`,
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runCodecServer(cmd.Context(), a, o) },
	}
	o.add(cmd, "127.0.0.1:8234")
	cmd.Flags().StringSliceVar(&o.origins, "origin", nil, "origin of a page that may use the server from a browser: scheme, host and port of the Temporal UI; may be repeated")
	cmd.Flags().StringVar(&o.tokens, "token-file", "", "file of mode 0600 with the accepted bearer tokens, one per line; default the token in PAWL_CODEC_TOKEN")
	return cmd
}

func runCodecServer(ctx context.Context, a *app.App, o codecServed) error {
	if err := checkOrigins(o.origins); err != nil {
		return err
	}
	tokens, err := codecTokens(o.tokens)
	if err != nil {
		return err
	}
	keys, err := worker.LoadCodec()
	if err != nil {
		return err
	}
	if len(keys.Keys) == 0 {
		return errors.New("no codec keys: set PAWL_CODEC_KEYS_FILE or PAWL_CODEC_KEYS, as for workers")
	}
	ring, err := codec.ParseRing(keys.Keys)
	if err != nil {
		return err
	}
	listener, err := o.open(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "codec server on %s, with the keys %v; Ctrl-C stops it\n", listener.Addr(), ring.IDs())
	return o.serve(ctx, listener, codec.Server(codec.New(ring, codec.Options{}), codec.ServerOptions{Tokens: tokens, Origins: o.origins}))
}

// codecTokens returns the bearer tokens in file, one per line. If file is empty, it reads them
// from the environment. It refuses short tokens and an empty list.
func codecTokens(file string) (tokens [][]byte, err error) {
	text, from := []byte(os.Getenv(codecTokenEnv)), codecTokenEnv
	if file != "" {
		from = file
		if text, err = secretfile.Read(file, maxTokenFile); err != nil {
			return nil, err
		}
	}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(line) < minToken {
			return nil, fmt.Errorf("%s: a token has fewer than %d characters; `openssl rand -base64 32` creates one", from, minToken)
		}
		tokens = append(tokens, line)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("no bearer token: give --token-file or set %s", codecTokenEnv)
	}
	return tokens, nil
}
