package triggerhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/client/triggerhttp"
)

// away is a database that does not answer, except for the trigger triage.
type away struct{}

var errAway = errors.New("away")

func (away) TriggerToFire(_ context.Context, tenantID, name string) (trigger.Document, error) {
	switch name {
	case "triage":
		return trigger.Document{TenantID: tenantID, Name: name, On: trigger.Webhook, Webhook: &trigger.WebhookOptions{Secret: "hook"}}, nil
	case "unknown":
		return trigger.Document{}, trigger.ErrNotFound
	}
	return trigger.Document{}, errAway
}
func (away) CanStartAgent(context.Context, string, string) error              { return errAway }
func (away) HasStarted(context.Context, string, string, string) (bool, error) { return false, errAway }
func (away) RecordTriggerEvent(context.Context, trigger.Record) error         { return errAway }
func (away) WebhookSecret(context.Context, string, string) ([]byte, error)    { return nil, errAway }

// lines is a log that several goroutines write.
type lines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// TestFaults: the log names the trigger whose event could not be taken, and an event that does not arrive whole is asked for again.
func TestFaults(t *testing.T) {
	t.Parallel()
	log := &lines{}
	start := func(context.Context, agent.Input) error { return errAway }
	handler, err := triggerhttp.New(triggerhttp.Options{
		Firer: trigger.Firer{Store: away{}, Start: start}, Secrets: away{}, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, c := range []struct {
		sent   string
		length int
		want   int
	}{
		{"{}", 2, http.StatusServiceUnavailable},
		{"{", 2, http.StatusRequestTimeout},
		{strings.Repeat("x", trigger.MaxEvent+1), trigger.MaxEvent + 1, http.StatusRequestEntityTooLarge},
	} {
		if got := post(t, server.Listener.Addr(), "/v1/triggers/acme/triage", c.length, c.sent); got != c.want {
			t.Errorf("%d of %d bytes get the status %d, want %d", len(c.sent), c.length, got, c.want)
		}
	}
	for name, want := range map[string]int{"unknown": http.StatusUnauthorized, "other": http.StatusServiceUnavailable} {
		// The answer comes before the body does.
		if got := post(t, server.Listener.Addr(), "/v1/triggers/acme/"+name, 2, "{"); got != want {
			t.Errorf("the status of the trigger %s is %d, want %d", name, got, want)
		}
	}
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "tenant=acme trigger=triage reason=") || !strings.Contains(text, "trigger=other reason=") {
		t.Errorf("the log is %q", text)
	}
}

// retiring has one trigger, which is retired after its first webhook was looked up.
type retiring struct {
	away
	asked atomic.Int32
}

func (r *retiring) TriggerToFire(_ context.Context, tenantID, name string) (trigger.Document, error) {
	if r.asked.Add(1) > 1 {
		return trigger.Document{}, trigger.ErrNotFound
	}
	return trigger.Document{TenantID: tenantID, Name: name, On: trigger.Webhook, Webhook: &trigger.WebhookOptions{Secret: "hook"}}, nil
}

// TestRetiredMeanwhile: a webhook whose body arrives after its trigger was retired is refused as one that is sent later.
func TestRetiredMeanwhile(t *testing.T) {
	t.Parallel()
	store := &retiring{}
	start := func(context.Context, agent.Input) error { return errAway }
	handler, err := triggerhttp.New(triggerhttp.Options{Firer: trigger.Firer{Store: store, Start: start}, Secrets: away{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	if got := post(t, server.Listener.Addr(), "/v1/triggers/acme/triage", 2, "{}"); got != http.StatusUnauthorized || store.asked.Load() != 2 {
		t.Errorf("the status is %d after %d looks", got, store.asked.Load())
	}
}

// post sends a body that may end too early, and returns the status of the answer.
func post(t *testing.T, to net.Addr, path string, length int, body string) int {
	t.Helper()
	conn, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: pawl\r\nContent-Length: %d\r\n\r\n%s", path, length, body); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}
