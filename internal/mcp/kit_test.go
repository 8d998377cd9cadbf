package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/source"
)

// reviewed is a person who has reviewed whatever `trust` accepts.
type reviewed struct {
	mu      sync.Mutex
	reviews map[string]policy.MCPReview
	changed chan struct{}
}

func newReviews() *reviewed {
	return &reviewed{reviews: map[string]policy.MCPReview{}, changed: make(chan struct{})}
}

func (r *reviewed) Review(server, tool string) (policy.MCPReview, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	review, ok := r.reviews[server+"/"+tool]
	return review, ok
}

func (r *reviewed) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *reviewed) set(server, tool string, review policy.MCPReview) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reviews[server+"/"+tool] = review
	close(r.changed)
	r.changed = make(chan struct{})
}

// running is a source that runs.
type running struct {
	t       testing.TB
	source  *Source
	reviews *reviewed
	log     *logged

	mu     sync.Mutex
	offers []source.Offer
	offer  chan struct{}
	done   chan struct{}
	cancel context.CancelFunc
}

// logged keeps the lines of a log.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs the source of a server until the test ends.
func start(t testing.TB, s Server) *running {
	t.Helper()
	r := &running{t: t, reviews: newReviews(), log: &logged{}, offer: make(chan struct{}, 1), done: make(chan struct{})}
	if s.ID == "" {
		s.ID = "srv"
	}
	src, err := NewSource(s, Options{Reviews: r.reviews, Log: slog.New(slog.NewTextHandler(r.log, nil)), Lookup: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	src.timing = timing{first: 20 * time.Millisecond, most: 100 * time.Millisecond, steady: time.Hour, refresh: 50 * time.Millisecond, slowest: 200 * time.Millisecond}
	r.source = src
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r.cancel = cancel
	go func() {
		defer close(r.done)
		if err := src.Run(ctx, r.take); err != nil {
			t.Errorf("Run returned %v", err)
		}
	}()
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		r.t.Error("the source does not stop")
	}
}

func (r *running) take(o source.Offer) {
	r.mu.Lock()
	r.offers = append(r.offers, o)
	r.mu.Unlock()
	select {
	case r.offer <- struct{}{}:
	default:
	}
}

func (r *running) last() (source.Offer, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.offers) == 0 {
		return source.Offer{}, 0
	}
	return r.offers[len(r.offers)-1], len(r.offers)
}

// until waits for an offer that ok accepts.
func (r *running) until(what string, ok func(source.Offer) bool) source.Offer {
	r.t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		if o, n := r.last(); n > 0 && ok(o) {
			return o
		}
		select {
		case <-r.offer:
		case <-deadline:
			o, n := r.last()
			r.t.Fatalf("no offer with %s; the last of %d has %d tools and the fault %q\n%s", what, n, len(o.Tools), o.Fault, r.log)
		}
	}
}

func find(o source.Offer, id string) (toolspec.Tool, bool) {
	for _, tool := range o.Tools {
		if tool.Definition().ID == id {
			return tool, true
		}
	}
	return toolspec.Tool{}, false
}

// trusted waits for a tool, reviews it, and returns it as the review has it.
func (r *running) trusted(name string, change ...func(*policy.MCPReview)) toolspec.Tool {
	r.t.Helper()
	id := toolspec.MCPToolID(r.source.server.ID, name)
	o := r.until("the tool "+id, func(o source.Offer) bool { _, ok := find(o, id); return ok && o.Fault == "" })
	tool, _ := find(o, id)
	review := policy.MCPReview{Digest: tool.Definition().Discovered.Digest, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Allow: []string{""}}
	for _, c := range change {
		c(&review)
	}
	r.reviews.set(r.source.server.ID, name, review)
	o = r.until("the review of "+id, func(o source.Offer) bool {
		tool, ok := find(o, id)
		return ok && tool.Definition().Discovered.Review != ""
	})
	tool, _ = find(o, id)
	return tool
}

// reports is the capability of progress.
type reports struct {
	mu   sync.Mutex
	all  []toolspec.Progress
	some chan struct{}
}

func (r *reports) Report(_ context.Context, p toolspec.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) < 1000 {
		r.all = append(r.all, p)
	}
	select {
	case r.some <- struct{}{}:
	default:
	}
}

// call calls a tool as an attempt does.
func call(t testing.TB, tool toolspec.Tool, args string, timeout time.Duration) (string, []toolspec.Progress, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
	defer cancel()
	progress := &reports{some: make(chan struct{}, 1)}
	caps, err := toolspec.NewCapabilities(capability.ProgressKey.Provide(progress))
	if err != nil {
		t.Fatal(err)
	}
	out, err := tool.Run(ctx, json.RawMessage(args), toolspec.Call{ToolID: tool.Definition().ID, Context: toolspec.Context{}}.WithCapabilities(caps))
	progress.mu.Lock()
	defer progress.mu.Unlock()
	return string(out), progress.all, err
}

// eventually calls a tool until it answers, or fails otherwise than for the lack of a session.
func eventually(t testing.TB, tool toolspec.Tool, args string) (string, error) {
	t.Helper()
	var out string
	var err error
	devstacktest.Eventually(t.Context(), 2*time.Minute, func() bool {
		out, _, err = call(t, tool, args, time.Minute)
		var busy *toolspec.BusyError
		// The end of a session is known a moment after a call has met it.
		return !errors.As(err, &busy) && !errors.Is(err, sdk.ErrConnectionClosed)
	})
	return out, err
}

// stdio is the configuration of a scripted server over stdio.
func stdio(t testing.TB, name string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{ID: "srv", Transport: Stdio, Command: self, Env: map[string]string{serverVariable: name}, StartTimeout: time.Minute}
}

var _ io.Writer = (*logged)(nil)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
