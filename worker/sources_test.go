package worker

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
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
	d := make(offering, 1)
	d.tools(tool("test__before"))
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

// TestSourcesOfAProgram: a source that is nil or of another kind than extension is an error at start.
func TestSourcesOfAProgram(t *testing.T) {
	t.Parallel()
	for _, second := range []source.Source{nil, ofAServer{}} {
		_, err := startSources(t.Context(), &opened{}, Config{}, additions{sources: []source.Source{make(offering), second}}, nil, nil, nil, nil, nil)
		if err == nil || !strings.Contains(err.Error(), "source 2 is nil or has another kind than extension") {
			t.Error(err)
		}
	}
}

// ofAServer is a source of another kind.
type ofAServer struct{ source.Source }

func (ofAServer) Info() source.Info { return source.Info{Kind: source.MCP, Name: "a"} }

// offering is a source that makes the offers that a test sends to it.
type offering chan source.Offer

func (offering) Info() source.Info { return source.Info{Kind: source.Extension, Name: "d"} }

func (o offering) Run(ctx context.Context, offer func(source.Offer)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case next := <-o:
			offer(next)
		}
	}
}

// tools offers these tools.
func (o offering) tools(tools ...toolspec.Tool) { o <- source.Offer{Tools: tools} }
