package operations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

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
	// minCodecToken is the minimum length of a bearer token, in bytes.
	minCodecToken = 16
	maxTokenFile  = 64 << 10
	// codecStop is the maximum time for requests to end when the server stops.
	codecStop = 5 * time.Second
)

// codecServed holds the flags of the codec server: its address, its certificate, and the tokens
// and origins that may use it.
type codecServed struct {
	listen, tokens, cert, key string
	origins                   []string
	behindProxy               bool
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
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:8234", "address to listen on")
	cmd.Flags().StringSliceVar(&o.origins, "origin", nil, "origin of a page that may use the server from a browser: scheme, host and port of the Temporal UI; may be repeated")
	cmd.Flags().StringVar(&o.tokens, "token-file", "", "file of mode 0600 with the accepted bearer tokens, one per line; default the token in PAWL_CODEC_TOKEN")
	cmd.Flags().StringVar(&o.cert, "tls-cert", "", "certificate file (PEM)")
	cmd.Flags().StringVar(&o.key, "tls-key", "", "private key file (PEM)")
	cmd.Flags().BoolVar(&o.behindProxy, "behind-proxy", false, "allow an address that other machines reach without a certificate: a proxy has the certificate")
	return cmd
}

func runCodecServer(ctx context.Context, a *app.App, o codecServed) error {
	if (o.cert == "") != (o.key == "") {
		return app.Usage(errors.New("--tls-cert and --tls-key need each other"))
	}
	for _, origin := range o.origins {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || origin != u.Scheme+"://"+u.Host {
			return app.Usage(fmt.Errorf("--origin %q is not an origin: an origin has the form https://temporal.example.com, without a path", origin))
		}
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
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	if here, ok := listener.Addr().(*net.TCPAddr); o.cert == "" && !o.behindProxy && (!ok || !here.IP.IsLoopback()) {
		_ = listener.Close()
		return app.Usage(fmt.Errorf("other machines reach %s, and tokens and payloads would be unencrypted: give --tls-cert and --tls-key, or --behind-proxy", o.listen))
	}
	fmt.Fprintf(a.Err, "codec server on %s, with the keys %v; Ctrl-C stops it\n", listener.Addr(), ring.IDs())
	return serveCodec(ctx, listener, codec.Server(codec.New(ring, codec.Options{}), codec.ServerOptions{Tokens: tokens, Origins: o.origins}), o)
}

// serveCodec serves until ctx ends.
func serveCodec(ctx context.Context, listener net.Listener, handler http.Handler, o codecServed) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan error, 1)
	go func() {
		if o.cert != "" {
			ended <- server.ServeTLS(listener, o.cert, o.key)
			return
		}
		ended <- server.Serve(listener)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), codecStop)
	defer cancel()
	return server.Shutdown(stopping)
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
		if len(line) < minCodecToken {
			return nil, fmt.Errorf("%s: a token has fewer than %d characters; `openssl rand -base64 32` creates one", from, minCodecToken)
		}
		tokens = append(tokens, line)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("no bearer token: give --token-file or set %s", codecTokenEnv)
	}
	return tokens, nil
}
