package devstack

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/openfgacli"
	"github.com/pawl-run/pawl/internal/devstack/pinned"
	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

// OpenFGAOptions configure an OpenFGA. The zero value is good.
type OpenFGAOptions struct {
	CacheDir string       // where the built server is kept; "" = ${XDG_CACHE_HOME:-~/.cache}/pawl
	Key      string       // a preshared key that callers must show; "" = none
	Progress func(string) // gets one line at a time; nil = silent
}

// OpenFGA is a running OpenFGA server that keeps everything in memory.
type OpenFGA struct {
	*server
	program    string
	options    OpenFGAOptions
	http, grpc int
}

// StartOpenFGA starts an OpenFGA server. It returns when the server answers, after about a second; the very first start takes minutes
// because it builds the server. ctx bounds the start only.
func StartOpenFGA(ctx context.Context, o OpenFGAOptions) (*OpenFGA, error) {
	program, err := openfgacli.Find(ctx, pinned.Options{CacheDir: o.CacheDir, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	home, err := openHome(ctx, "openfga", "", false, nil)
	if err != nil {
		return nil, err
	}
	server, err := openServer(home, "OpenFGA", "openfga", supervise.Step{Signal: supervise.Terminate, Wait: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	f := &OpenFGA{server: server, program: program, options: o}
	if err := f.open(ctx); err != nil {
		return nil, f.abandon(err)
	}
	return f, nil
}

func (f *OpenFGA) open(ctx context.Context) (err error) {
	for range startAttempts {
		if f.http, err = f.home.port("port", 0); err != nil {
			return err
		}
		if f.grpc, err = f.home.port("grpc-port", f.http); err != nil {
			return err
		}
		if err = f.serve(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

func (f *OpenFGA) serve(ctx context.Context) error {
	args := []string{
		"run", "--http-addr", address(f.http), "--grpc-addr", address(f.grpc), "--log-level", "warn",
		"--playground-enabled=false", "--metrics-enabled=false",
	}
	if f.options.Key != "" {
		args = append(args, "--authn-method", "preshared", "--authn-preshared-keys", f.options.Key)
	}
	return f.launch(ctx, supervise.Command{
		Path: f.program, Args: args, Dir: f.home.dir, Env: serverEnv(f.home.dir), Signal: supervise.Terminate,
	}, func(ctx context.Context) error { return answersHTTP(ctx, f.URL()+"/healthz") })
}

// URL returns the address of the HTTP API.
func (f *OpenFGA) URL() string { return "http://" + address(f.http) }
