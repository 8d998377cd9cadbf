package sources

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/source"
)

// directed is a source that does the steps that a test sends to it.
type directed struct {
	name string
	does chan func(offer func(source.Offer)) (end bool, err error)
}

func newDirected(name string) *directed {
	return &directed{name: name, does: make(chan func(func(source.Offer)) (bool, error), 10)}
}

func (d *directed) Info() source.Info { return source.Info{Kind: source.Extension, Name: d.name} }

func (d *directed) Run(ctx context.Context, offer func(source.Offer)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case do := <-d.does:
			if end, err := do(offer); end {
				return err
			}
		}
	}
}

func (d *directed) offers(o source.Offer) *directed {
	d.does <- func(offer func(source.Offer)) (bool, error) { offer(o); return false, nil }
	return d
}

func (d *directed) tools(tools ...toolspec.Tool) *directed {
	return d.offers(source.Offer{Tools: tools})
}

func (d *directed) ends(err error) *directed {
	d.does <- func(func(source.Offer)) (bool, error) { return true, err }
	return d
}

func (d *directed) panics() *directed {
	d.does <- func(func(source.Offer)) (bool, error) { panic("s3cret") }
	return d
}

// tool returns a tool that does nothing.
func tool(id string, needs ...toolspec.CapabilityName) toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: id, Description: "a tool of a test", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{""}}, Capabilities: needs,
	}, func(context.Context, struct{}, toolspec.Call) (string, error) { return "", nil })
}

func newRegistry() *catalog.Registry { return catalog.NewRegistry(toolspec.Capabilities{}) }

// all turns no tool off.
func all(tools []toolspec.Tool) []toolspec.Tool { return tools }

func logTo(log *devstacktest.Log) *slog.Logger { return slog.New(slog.NewTextHandler(log, nil)) }

// startSources starts sources without a worker. It stops them when the test ends.
func startSources(t *testing.T, log *devstacktest.Log, from ...source.Source) *Set {
	t.Helper()
	s, stop, err := Start(t.Context(), from, newRegistry(), all, logTo(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

func (s *Set) describe() string {
	var all []string
	for _, state := range s.States() {
		if state.Name != "" {
			all = append(all, fmt.Sprintf("%s %s %d %q", state.Kind, state.Name, state.Tools, state.Fault))
		}
	}
	return strings.Join(all, "\n")
}

func expectSources(t *testing.T, s *Set, want string) {
	t.Helper()
	synctest.Wait()
	if got := s.describe(); got != want {
		t.Errorf("the sources are\n%s\nwant\n%s", got, want)
	}
}

// TestSourcesAreChecked: an invalid source is an error at start.
func TestSourcesAreChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		sources []source.Source
		want    string
	}{
		{[]source.Source{newDirected("a"), newDirected("a")}, `two sources are "extension a"`},
		{[]source.Source{newDirected("two words")}, "may hold only letters"},
	} {
		_, _, err := Start(t.Context(), tc.sources, newRegistry(), all, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}

// server is a source of another kind.
type server struct{ *directed }

func (s server) Info() source.Info { return source.Info{Kind: source.MCP, Name: s.name} }

// TestDeadSources: 30 sources, of which 10 never offer, delay a start by three seconds. Later offers of these
// sources need no restart.
func TestDeadSources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []source.Source
		var dead []*directed
		for i := range 30 {
			d := newDirected(fmt.Sprint("s", i))
			all = append(all, d)
			if i%3 == 0 {
				dead = append(dead, d)
			} else {
				d.tools(tool(fmt.Sprintf("s%d__a", i)))
			}
		}
		began := time.Now()
		log := &devstacktest.Log{}
		s := startSources(t, log, all...)
		if took := time.Since(began); took != firstOffers {
			t.Errorf("the start took %s", took)
		}
		if n := len(s.registry.Specs()); n != 20 || strings.Count(s.describe(), "it has offered no tools yet") != 10 {
			t.Errorf("%d tools, the sources are\n%s", n, s.describe())
		}
		if !log.Has("the tools of a kind of sources are there", "kind=extension tools=20 took=3s sources=30 faulty=10") {
			t.Errorf("the log says %s", log)
		}
		for i, d := range dead {
			d.tools(tool(fmt.Sprintf("dead%d__a", i)))
		}
		synctest.Wait()
		if n := len(s.registry.Specs()); n != 30 || strings.Contains(s.describe(), "offered no") || !log.Has("a source of tools works again") {
			t.Errorf("%d tools, the sources are\n%s", n, s.describe())
		}
	})
}

// TestPhases: the kinds of sources start in their order and stop in the reverse order. A later kind has its own
// part of the time.
func TestPhases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		order := make(chan string, 2)
		note := func(d *directed, what string) {
			d.does <- func(func(source.Offer)) (bool, error) { order <- what; return false, nil }
		}
		dead, late := server{newDirected("dead")}, newDirected("late")
		note(dead.directed, "mcp")
		note(late, "extension")
		log := &devstacktest.Log{}
		began := time.Now()
		time.AfterFunc(firstOffers-laterKind+time.Millisecond, func() { late.tools(tool("late__a")) })
		s, stop, err := Start(t.Context(), []source.Source{late, dead}, newRegistry(), all, logTo(log))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != firstOffers-laterKind+time.Millisecond {
			t.Errorf("the start took %s", took)
		}
		if first, second := <-order, <-order; first != "mcp" || second != "extension" {
			t.Errorf("the order is %s, %s", first, second)
		}
		expectSources(t, s, "mcp dead 0 \"it has offered no tools yet\"\nextension late 1 \"\"")
		stop()
		if text := log.String(); strings.Index(text, "kind=mcp") > strings.Index(text, "kind=extension") {
			t.Errorf("the log says %s", text)
		}
	})
}

// TestFailingSources: a source that panics or returns an error is started again, with growing pauses. A source
// that returns without an error is not started again. Its tools stay, and the other sources are not affected.
func TestFailingSources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		well, broken := newDirected("well").tools(tool("well__a")), newDirected("broken").tools(tool("broken__a"))
		log := &devstacktest.Log{}
		s := startSources(t, log, well, broken)
		expectSources(t, s, "extension well 1 \"\"\nextension broken 1 \"\"")
		broken.panics()
		expectSources(t, s, "extension well 1 \"\"\nextension broken 1 \"it panicked; the worker starts it again\"")
		broken.ends(errors.New("s3cret"))
		db.Pause(t.Context(), firstRestartAfter) // on the clock of the test
		expectSources(t, s, "extension well 1 \"\"\nextension broken 1 \"it ended with an error (*errors.errorString); the worker starts it again\"")
		broken.tools(tool("broken__b"))
		db.Pause(t.Context(), 2*firstRestartAfter-time.Millisecond)
		if _, ok := s.registry.Get("broken__b"); ok {
			t.Error("the second pause is not longer")
		}
		db.Pause(t.Context(), time.Millisecond)
		expectSources(t, s, "extension well 1 \"\"\nextension broken 1 \"\"")
		if _, ok := s.registry.Get("broken__b"); !ok {
			t.Error("it was not started again")
		}
		broken.ends(nil)
		expectSources(t, s, "extension well 1 \"\"\nextension broken 1 \"it ended before the worker; its last tools stay\"")
		db.Pause(t.Context(), time.Hour)
		expectSources(t, s, "extension well 1 \"\"\nextension broken 1 \"it ended before the worker; its last tools stay\"")
		well.offers(source.Offer{Tools: []toolspec.Tool{tool("well__a")}, Fault: "the ser\u202ever is away"})
		synctest.Wait()
		if text := s.describe(); !strings.HasPrefix(text, `extension well 1 "the ser.ver is away"`) {
			t.Errorf("the sources are\n%s", text)
		}
		if text := log.String(); strings.Contains(text, "s3cret") || !strings.Contains(text, `level=WARN msg="a source of tools has a fault, so the worker is degraded`) {
			t.Errorf("the log says %s", text)
		}
	})
}

// TestLateOffersAreDropped: an offer of a run that has ended changes nothing.
func TestLateOffersAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDirected("d")
		var kept func(source.Offer)
		d.does <- func(offer func(source.Offer)) (bool, error) { kept = offer; offer(source.Offer{}); return true, nil }
		s := startSources(t, &devstacktest.Log{}, d)
		synctest.Wait() // The start waits for the first offer, and not for the end of the run.
		kept(source.Offer{Tools: []toolspec.Tool{tool("d__late")}})
		synctest.Wait()
		if n := len(s.registry.Specs()); n != 0 {
			t.Errorf("%d tools", n)
		}
	})
}

// TestAnOfferOfAnEndedRun: an offer that a run made before it ended is taken, and the fault of the run is still
// shown.
func TestAnOfferOfAnEndedRun(t *testing.T) {
	t.Parallel()
	s := &Set{registry: newRegistry(), enabled: all, log: slog.New(slog.DiscardHandler), changed: make(chan struct{}, 1)}
	if err := s.host([]source.Source{newDirected("d")}); err != nil {
		t.Fatal(err)
	}
	h := s.hosted[0]
	h.runs = 1
	s.offer(h, 1, source.Offer{Tools: []toolspec.Tool{tool("d__a")}})
	h.runs = 2
	s.setFault(h, "it ended")
	s.take(t.Context(), h)
	if got := s.describe(); got != `extension d 1 "it ended"` {
		t.Errorf("the sources are %s", got)
	}
}

// TestLeftOutTools: only tools that are invalid, are turned off or have a taken id are left out. When the id is
// free, the next source gets it.
func TestLeftOutTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := toolspec.Define[struct{}, struct{}](toolspec.Definition{ID: "b__bad\u202e"}, nil)
		a, b := newDirected("a").tools(tool("x__both")), newDirected("b")
		log := &devstacktest.Log{}
		time.AfterFunc(time.Millisecond, func() { b.tools(tool("x__both"), broken, tool("x__off"), tool("b__a", "rockets")) })
		s, stop, err := Start(t.Context(), []source.Source{a, b}, newRegistry(), func(offered []toolspec.Tool) []toolspec.Tool {
			return slices.DeleteFunc(slices.Clone(offered), func(tool toolspec.Tool) bool { return tool.Definition().ID == "x__off" })
		}, logTo(log))
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		expectSources(t, s, "extension a 1 \"\"\nextension b 0 \"\"")
		states := s.States()
		if left := states[len(states)-1]; left.LeftOutCount != 3 || left.LeftOut[0].ToolID != "b__bad." || !strings.Contains(left.LeftOut[1].Why, "rockets") || left.LeftOut[2].Why != "tool x__both: the id is taken by a tool of extension a" {
			t.Errorf("left out: %+v", left)
		}
		if !log.Has("tools of a source are left out", "count=3", "b__bad.") {
			t.Errorf("the log says %s", log)
		}
		a.tools()
		expectSources(t, s, "extension a 0 \"\"\nextension b 1 \"\"")
	})
}

// TestASourceThatDoesNotStop: such a source does not keep the worker from stopping.
func TestASourceThatDoesNotStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, release := newDirected("d"), make(chan struct{})
		d.does <- func(offer func(source.Offer)) (bool, error) { offer(source.Offer{}); <-release; return true, nil }
		log := &devstacktest.Log{}
		_, stop, err := Start(t.Context(), []source.Source{d}, newRegistry(), all, logTo(log))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took != stopTime || !log.Has("a source of tools does not stop", "name=d") {
			t.Errorf("the stop took %s; the log says %s", took, log)
		}
		close(release)
	})
}

// TestStopDoesNotWaitForATool: a source whose tools never finish binding delays the stop of a worker by a
// bounded time.
func TestStopDoesNotWaitForATool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &devstacktest.Log{}
		s, stop, err := Start(t.Context(), nil, newRegistry(), all, logTo(log))
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		defer close(release)
		s.appliers.Go(func() { <-release })
		began := time.Now()
		stop()
		if took := time.Since(began); took != stopTime || !strings.Contains(log.String(), "does not wait for them") {
			t.Errorf("the stop took %s and says %s", took, log)
		}
	})
}
