package operations

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	pgcatalog "github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

func TestPIDOf(t *testing.T) {
	t.Parallel()
	for identity, want := range map[string]int{"pawl-worker:17@host": 17, "pawl-worker:x@host": 0, "17@host": 0, "pawl-worker:-1@host": 0} {
		if pid, host, ok := pidOf(identity); ok != (want > 0) || ok && (pid != want || host != "host") {
			t.Errorf("%s: %d at %s, %v", identity, pid, host, ok)
		}
	}
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if gone(os.Getpid(), here) || gone(1<<30, "another-host") || !gone(1<<30, here) {
		t.Error("who is gone is known only of this host")
	}
}

// TestEndings: a line appears if closing hooks of swept calls are left to run, and its check fails after several sweeps in vain.
func TestEndings(t *testing.T) {
	t.Parallel()
	since := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		backlog reads.EndingBacklog
		err     error
		ok      bool
		says    []string
	}{
		"a few":   {reads.EndingBacklog{Calls: 2, Since: &since, Tries: 1}, nil, true, []string{"2 swept calls", app.FormatTime(since)}},
		"in vain": {reads.EndingBacklog{Calls: 2, Since: &since, Tries: 3}, nil, false, []string{"2 swept calls", "tried 3 times", "start a worker"}},
		"unread":  {reads.EndingBacklog{}, errors.New("the database is away"), false, []string{"the database is away"}},
	} {
		d := &diagnosis{}
		d.endings(c.backlog, c.err)
		if len(d.Checks) != 1 || d.Checks[0].OK != c.ok {
			t.Errorf("%s: %+v", name, d.Checks)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(d.Checks[0].Message, part) {
				t.Errorf("%s: it says %q, without %q", name, d.Checks[0].Message, part)
			}
		}
	}
	d := &diagnosis{}
	if d.endings(reads.EndingBacklog{}, nil); len(d.Checks) != 0 {
		t.Errorf("of nothing it says %+v", d.Checks)
	}
}

// TestSweepFault: the check fails if a part of the last sweep failed, or if the database refused to end a call.
func TestSweepFault(t *testing.T) {
	t.Parallel()
	for says, out := range map[string]upkeep.SweepOut{
		"":                      {Calls: contract.SweepCallsOut{Open: 3, Cancelled: 2, Unclear: 1}},
		"failed in part: a, b":  {Failed: []string{"a", "b"}},
		"could not end 2 calls": {Calls: contract.SweepCallsOut{Open: 3, Cancelled: 1, Refused: 2}},
	} {
		if err := sweepFault("sweep-1", out); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", out, err, says)
		}
	}
}

// TestSources (RF-14): degraded workers and conflicts fail the check; tools that are left out are named.
func TestSources(t *testing.T) {
	t.Parallel()
	own := pgcatalog.SourceState{Kind: "builtin", Tools: 30}
	works := pgcatalog.SourceState{Kind: "extension", Name: "words", Tools: 3}
	lacks := pgcatalog.SourceState{Kind: "mcp", Name: "git", Tools: 3, LeftOutCount: 2, LeftOut: []pgcatalog.LeftOut{{ToolID: "g__a", Why: "tool g__a: bad"}}}
	faulty := pgcatalog.SourceState{Kind: "mcp", Name: "mail", Fault: "it is away", Since: "2026-01-02T03:04:05Z"}
	of := func(all ...[]pgcatalog.SourceState) (workers []pgcatalog.WorkerSources) {
		for i, sources := range all {
			workers = append(workers, pgcatalog.WorkerSources{WorkerID: strconv.Itoa(i), Sources: sources})
		}
		return workers
	}
	for name, c := range map[string]struct {
		workers   []pgcatalog.WorkerSources
		conflicts []string
		err       error
		ok        bool
		says      string // "" is no line
	}{
		"no sources":   {of([]pgcatalog.SourceState{own}), nil, nil, true, ""},
		"two":          {of([]pgcatalog.SourceState{own, works}, []pgcatalog.SourceState{works}), nil, nil, true, "2 work"},
		"left out":     {of([]pgcatalog.SourceState{works, lacks}), nil, nil, true, "2 work; workers have left out 2 tools of mcp git (tool g__a: bad)"},
		"degraded":     {of([]pgcatalog.SourceState{works, faulty}, []pgcatalog.SourceState{faulty}, nil), nil, nil, false, "2 of 3 workers are degraded: mcp mail since 2026-01-02T03:04:05Z: it is away"},
		"a conflict":   {of([]pgcatalog.SourceState{own}), []string{"w__a"}, nil, false, "running workers have different definitions of w__a: "},
		"not readable": {nil, nil, errors.New("the database is away"), false, "the database is away"},
	} {
		d := &diagnosis{}
		d.sources(c.workers, c.conflicts, c.err)
		if c.says == "" {
			if len(d.Checks) > 0 {
				t.Errorf("%s: %+v", name, d.Checks)
			}
			continue
		}
		if len(d.Checks) != 1 || d.Checks[0].OK != c.ok || !strings.HasPrefix(d.Checks[0].Message, c.says) {
			t.Errorf("%s: %+v", name, d.Checks)
		}
	}
}

// TestTools: the built-in tools that no worker offers are named with what they need. Without a live worker there is no line.
func TestTools(t *testing.T) {
	t.Parallel()
	var none, all, some diagnosis
	none.tools(nil, nil)
	registry, err := catalog.Describe("builtin", tools.All()...)
	if err != nil {
		t.Fatal(err)
	}
	live := registry.Specs()
	all.tools(live, nil)
	some.tools(slices.DeleteFunc(slices.Clone(live), func(s toolspec.Spec) bool { return s.Name == "core__ls" || s.Name == "core__done" }), nil)
	if len(none.Checks) != 0 || len(all.Checks) != 1 || strings.Contains(all.Checks[0].Message, "no worker") || !some.Checks[0].OK ||
		!strings.Contains(some.Checks[0].Message, "; no worker offers core__done (turned off), core__ls (turned off, or without files): ") {
		t.Errorf("%+v, %+v, %+v", none.Checks, all.Checks, some.Checks)
	}
}
