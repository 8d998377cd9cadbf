package sources

import (
	"context"
	"log/slog"
	"time"

	postgrescatalog "github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/source"
)

const (
	// maxText bounds a text of a source that is logged and published, in bytes.
	maxText = 300
	// maxShown bounds the tools that are left out of one offer and are logged and published.
	maxShown = 8
)

// setFault records how a run of a source ended.
func (s *Set) setFault(h *hosted, fault string) { s.update(h, func() { h.runFault = fault }) }

// update calls change, which changes the faults of h. It logs if a fault begins, changes or ends, and wakes the
// publication then.
func (s *Set) update(h *hosted, change func()) {
	s.mu.Lock()
	before := h.currentFault()
	change()
	after := h.currentFault()
	switch {
	case after == "":
		h.since = time.Time{}
	case before == "":
		h.since = time.Now()
	}
	s.mu.Unlock()
	if before == after {
		return
	}
	log := s.log.With("kind", h.info.Kind, "name", h.info.Name)
	if after == "" {
		log.Info("a source of tools works again")
	} else {
		log.Warn("a source of tools has a fault, so the worker is degraded; the other tools are not affected", "fault", after)
	}
	wake(s.changed)
}

// States returns the states of the sources, for the row of the worker in the database.
func (s *Set) States() []postgrescatalog.SourceState {
	counts := map[source.Kind]int{}
	for _, spec := range s.registry.Specs() {
		counts[source.Kind(spec.Origin)]++
	}
	var all []postgrescatalog.SourceState
	for _, kind := range []source.Kind{source.Builtin, source.Worker} {
		if counts[kind] > 0 {
			all = append(all, postgrescatalog.SourceState{Kind: string(kind), Tools: counts[kind]})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosted {
		if h.info.Kind == source.Registered && h.tools == 0 && h.currentFault() == "" && len(h.leftOut) == 0 {
			continue // nobody has registered tools
		}
		state := postgrescatalog.SourceState{
			Kind: string(h.info.Kind), Name: h.info.Name, Tools: h.tools, Fault: h.currentFault(), LeftOutCount: len(h.leftOut),
		}
		if !h.since.IsZero() {
			state.Since = h.since.UTC().Format(time.RFC3339)
		}
		for _, l := range h.leftOut[:min(len(h.leftOut), maxShown)] {
			state.LeftOut = append(state.LeftOut, postgrescatalog.LeftOut{ToolID: printable(l.ToolID), Why: printable(l.Error())})
		}
		all = append(all, state)
	}
	return all
}

func logLeftOut(ctx context.Context, log *slog.Logger, from source.Info, left []catalog.LeftOut) {
	if len(left) == 0 {
		return
	}
	lines := make([]string, 0, maxShown)
	for _, l := range left[:min(len(left), maxShown)] {
		lines = append(lines, printable(l.Error()))
	}
	log.WarnContext(ctx, "tools of a source are left out", "kind", from.Kind, "name", from.Name, "count", len(left), "tools", lines)
}

// printable returns a text for logs and rows. The text may come from a server.
func printable(s string) string { return toolspec.Printable(s, maxText) }
