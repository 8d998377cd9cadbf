package health

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/buildinfo"
)

const (
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 8 << 10
	// requestTime bounds a request: to read it, and to answer it.
	requestTime = 5 * time.Second
	// closeTime is how long requests have to end when the listener closes.
	closeTime = time.Second
)

// Listen answers probes until stop is called. An address without a host is an address of the loopback interface: other
// machines reach the listener only if the address names an interface, such as 0.0.0.0. metrics answers /metrics.
func Listen(ctx context.Context, address string, b *Board, metrics http.Handler) (at net.Addr, stop func(), err error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, fmt.Errorf("%q is not a port or an address HOST:PORT", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{
		Handler: Handler(b, metrics), ReadHeaderTimeout: requestTime, ReadTimeout: requestTime, WriteTimeout: requestTime, IdleTimeout: time.Minute,
		MaxHeaderBytes: maxHeader,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends when stop closes it
	}()
	return listener.Addr(), func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if server.Shutdown(closing) != nil {
			_ = server.Close()
		}
		<-done
	}, nil
}

// Handler answers GET /livez, /readyz, /version, and /metrics with metrics.
func Handler(b *Board, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, `{"status":"alive"}`)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		report, status := b.Report(r.Context()), http.StatusOK
		if report.Status == NotReady {
			status = http.StatusServiceUnavailable
		}
		body, err := json.Marshal(report)
		if err != nil {
			body, status = nil, http.StatusInternalServerError
		}
		answer(w, status, string(body))
	})
	version, err := json.Marshal(buildinfo.Current())
	if err != nil {
		panic(err) // it has texts and numbers only
	}
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, string(version)) })
	return mux
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body+"\n") // the prober may be gone
}
