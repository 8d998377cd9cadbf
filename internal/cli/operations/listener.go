package operations

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// stopTimeout is the maximum time for requests to end when a server stops.
const stopTimeout = 5 * time.Second

// listenerFlags are the address and the certificate of a command that serves HTTP.
type listenerFlags struct {
	listen, cert, key string
	behindProxy       bool
}

func (f *listenerFlags) add(cmd *cobra.Command, address string) {
	cmd.Flags().StringVar(&f.listen, "listen", address, "address to listen on")
	cmd.Flags().StringVar(&f.cert, "tls-cert", "", "certificate file (PEM)")
	cmd.Flags().StringVar(&f.key, "tls-key", "", "private key file (PEM)")
	cmd.Flags().BoolVar(&f.behindProxy, "behind-proxy", false, "allow an address that other machines reach without a certificate: a proxy has the certificate")
}

// open listens. Without a certificate, and without a proxy that has one, it refuses an address that
// other machines reach.
func (f *listenerFlags) open(ctx context.Context) (net.Listener, error) {
	if (f.cert == "") != (f.key == "") {
		return nil, app.Usage(errors.New("--tls-cert and --tls-key need each other"))
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, err
	}
	if f.cert == "" && !f.behindProxy && !isLoopback(listener) {
		_ = listener.Close()
		return nil, app.Usage(fmt.Errorf("other machines reach %s, and tokens and payloads would be unencrypted: give --tls-cert and --tls-key, or --behind-proxy", f.listen))
	}
	return listener, nil
}

// isLoopback reports whether only this machine reaches the listener.
func isLoopback(listener net.Listener) bool {
	here, ok := listener.Addr().(*net.TCPAddr)
	return ok && here.IP.IsLoopback()
}

// serve serves until ctx ends. The contexts of requests end with ctx, so that long answers end too.
func (f *listenerFlags) serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() {
		if f.cert != "" {
			ended <- server.ServeTLS(listener, f.cert, f.key)
			return
		}
		ended <- server.Serve(listener)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return server.Shutdown(stopping)
}

func checkOrigins(origins []string) error {
	for _, origin := range origins {
		if err := runhttp.CheckOrigin(origin); err != nil {
			return app.Usage(fmt.Errorf("--origin %w", err))
		}
	}
	return nil
}
