package worker

import (
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestChangesArePublishedAfterAFailure: if the database does not take a change of the tools, the worker
// publishes this change again, together with later changes.
func TestChangesArePublishedAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u, err := url.Parse(w.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	p := proxyTo(t, u.Host)
	u.Host = p.Address()
	w.config.DatabaseURL, w.config.PolicyFile = u.String(), w.file("policy.yaml", rules)
	d := newDirected("d").tools(tool("test__before"))
	r := w.start(Sources(d))
	r.waitForLog(runs)
	if err := p.Set(tcpproxy.Refuse); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	d.tools(tool("test__missed"))
	r.waitForLog("it could not renew its row of workers")
	if err := p.Set(tcpproxy.Pass); err != nil {
		t.Fatal(err)
	}
	d.tools(tool("test__after"))
	w.until("the lists have the last tools", func() error {
		specs, err := w.store.LiveSpecs(t.Context())
		var ids []string
		for _, s := range specs {
			if s.Origin != "builtin" {
				ids = append(ids, s.Name)
			}
		}
		if err != nil || !slices.Equal(ids, []string{"test__after"}) {
			return fmt.Errorf("listed are %v, %w", ids, err)
		}
		return nil
	})
	if result, err := w.invoke("test__after", "after", `{}`); err != nil || !result.OK {
		t.Errorf("got %+v, %v", result, err)
	}
	if result, _ := w.invoke("test__before", "before", `{}`); result.ErrorCode != toolspec.CodeUnavailable {
		t.Errorf("a tool that is gone ends with %+v", result)
	}
}

// TestStopDoesNotWaitForATool: a source whose tools never finish binding delays the stop of a worker by a
// bounded time.
func TestStopDoesNotWaitForATool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &devstacktest.Log{}
		s := &sources{
			registry: catalog.NewRegistry(toolspec.Capabilities{}), on: newSwitch(nil), log: slog.New(slog.NewTextHandler(log, nil)),
			restartAfter: time.Second, stopTime: sourceStopTime, changed: make(chan struct{}, 1),
		}
		release := make(chan struct{})
		defer close(release)
		s.appliers.Go(func() { <-release })
		stop := s.start(t.Context())
		began := time.Now()
		stop()
		if took := time.Since(began); took != sourceStopTime || !strings.Contains(log.String(), "does not wait for them") {
			t.Errorf("the stop took %s and says %s", took, log)
		}
	})
}
