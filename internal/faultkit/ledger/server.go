package ledger

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// maxEffect bounds the body of one effect, in bytes.
const maxEffect = 16 << 10

// Ledger records effects in the order in which they arrive. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	effects []Effect
	held    chan struct{} // open while Hold delays answers
	server  *http.Server
	url     string
}

// Start starts an empty ledger on a loopback port. The caller must close it.
func Start() (*Ledger, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Ledger{url: "http://" + listener.Addr().String(), held: make(chan struct{})}
	close(l.held)
	l.server = &http.Server{Handler: http.HandlerFunc(l.write), ReadHeaderTimeout: time.Minute}
	go func() {
		if err := l.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // without the ledger every verdict would be worthless
		}
	}()
	return l, nil
}

// URL returns the address for a Writer.
func (l *Ledger) URL() string { return l.url }

// Close stops the server. Effects stays usable.
func (l *Ledger) Close() error { return l.server.Close() }

// Effects returns a copy of all effects.
func (l *Ledger) Effects() []Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.effects)
}

// Of returns the effects of one call.
func (l *Ledger) Of(invocationID string) []Effect {
	return slices.DeleteFunc(l.Effects(), func(e Effect) bool { return e.InvocationID != invocationID })
}

// Hold delays the answer to every effect until release is called, so the tools wait.
func (l *Ledger) Hold() (release func()) {
	held := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = held
	return sync.OnceFunc(func() { close(held) })
}

func (l *Ledger) write(w http.ResponseWriter, r *http.Request) {
	var e Effect
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxEffect)).Decode(&e); err != nil || e.Key == "" {
		http.Error(w, "not an effect", http.StatusBadRequest)
		return
	}
	e.At = time.Now()
	l.mu.Lock()
	l.effects = append(l.effects, e)
	held := l.held
	l.mu.Unlock()
	select {
	case <-held:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}
