// Command watch shows a run in a browser while it happens: its calls as they start, their progress,
// the approvals they wait for, and their results. It is a worker too, so that one command is all it
// takes:
//
//	pawl dev --policy examples/policy.yaml -- go run ./examples/watch
//
// It prints the address of a page and a token. Open the page, give it the token and a run, and start
// calls of that run in another terminal, in the same directory:
//
//	pawl invoke report__index --run demo --actor user:ann --args '{"files":40,"milliseconds":200}'
//
// The page reads the stream of package client/runhttp with fetch: a browser's EventSource could not
// send the token, and a token has no place in a URL.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/worker"
)

//go:embed page
var page embed.FS

func main() {
	listen := flag.String("listen", "127.0.0.1:8236", "address of the page, on this machine")
	actor := flag.String("actor", "user:ann", "the actor whose runs the page shows")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen, *actor); err != nil {
		log.Fatal(err) //nolint:gocritic // the signal handler ends with the process
	}
}

// run is a worker, and beside it a server, until ctx ends.
func run(ctx context.Context, listen, actor string) error {
	config, err := worker.LoadConfig()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	pawl, ended := make(chan *client.Client, 1), make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, config, worker.Tools(index), worker.Started(func(c *client.Client) { pawl <- c }))
	}()
	select {
	case err := <-ended:
		return err
	case <-pawl:
	}
	db, err := postgres.Open(ctx, config.DatabaseURL)
	if err != nil {
		return err
	}
	defer db.Close()
	token := rand.Text()
	handler, err := pages(runhttp.Options{Watcher: db, Owners: db, Authenticator: viewer{actor, sha256.Sum256([]byte(token))}})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "watch runs of %s at http://%s/ with the token %s\n", actor, listener.Addr(), token)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		<-ctx.Done()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(stopping)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// pages serves the page and the streams.
func pages(o runhttp.Options) (http.Handler, error) {
	streams, err := runhttp.New(o)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(page, "page")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(runhttp.Path, streams)
	mux.Handle("/", policy(http.FileServerFS(files)))
	return mux, nil
}

// policy lets the page load nothing but its own files: what a tool returns can neither run nor send
// anything, even if the page had a fault.
func policy(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		files.ServeHTTP(w, r)
	})
}

// viewer is the only person who may watch. A program with users asks its sessions instead.
type viewer struct {
	actor  string
	digest [sha256.Size]byte
}

// Authenticate implements runhttp.Authenticator.
func (v viewer) Authenticate(_ context.Context, _, token string) (runhttp.Viewer, error) {
	digest := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(digest[:], v.digest[:]) != 1 {
		return runhttp.Viewer{}, runhttp.ErrUnauthenticated
	}
	return runhttp.Viewer{Identity: v.actor}, nil
}
