package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/sources"
	"github.com/pawl-run/pawl/internal/web"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/httptool"
	"github.com/pawl-run/pawl/toolspec/source"
)

// Sources adds sources of tools that may come and go while the worker runs. Their kind must be
// [source.Extension], and each needs a name of its own if there are several. Policy must also allow the
// tools. A source that fails does not stop the worker: its earlier tools stay, and the worker is
// degraded until the source works again. But a panic in a goroutine that the source started itself ends
// the process.
func Sources(sources ...source.Source) Option {
	return func(a *additions) { a.sources = append(a.sources, sources...) }
}

// registrationsMoved has a value if registered tools may have changed.
type registrationsMoved chan struct{}

// startSources starts the sources of the configuration, of the program and of the database. They run until o is
// closed. By then the Temporal worker has stopped, and the store is still open.
func startSources(ctx context.Context, o *opened, c Config, a additions, registry *catalog.Registry, on *toolSwitch, reviews *mcpReviews, store *postgres.Store, moved registrationsMoved) (*sources.Set, error) {
	for i, from := range a.sources {
		if from == nil || from.Info().Kind != source.Extension {
			return nil, fmt.Errorf("worker.Sources: source %d is nil or has another kind than %s", i+1, source.Extension)
		}
	}
	all := append(slices.Concat(a.configured, a.sources), registeredSource(o, c, store, reviews, moved))
	set, stop, err := sources.Start(ctx, all, registry, on.enabled, c.Log)
	if err != nil {
		return nil, err
	}
	o.add(stop)
	return set, ctx.Err()
}

// registeredSource returns the source of the tools that are registered in the database. Their MCP servers must be on
// public hosts.
func registeredSource(o *opened, c Config, store *postgres.Store, reviews *mcpReviews, moved registrationsMoved) source.Source {
	public := web.NewPublic(web.Options{Ports: c.Web.Ports})
	o.add(public.Close)
	return sources.Registered(store, moved, func(s mcp.Server) (source.Source, error) {
		s.Dial = public.Dial
		// A registration names no variable of the worker.
		return mcp.NewSource(s, mcp.Options{Reviews: reviews, Log: c.Log, Lookup: func(string) (string, bool) { return "", false }})
	}, c.Log)
}

// httpSources returns the source of PAWL_HTTP_TOOLS, if there is one.
func httpSources(c Config) []source.Source {
	if c.HTTPTools == "" {
		return nil
	}
	return []source.Source{sources.Files(source.HTTP, "PAWL_HTTP_TOOLS", c.HTTPTools, readHTTPTools)}
}

// readHTTPTools reads the tools of a file.
func readHTTPTools(name string) ([]toolspec.Tool, error) {
	text, err := readFile(name, httptool.MaxDocument)
	if err != nil {
		return nil, err
	}
	d, err := httptool.Read(filepath.Base(name), text)
	if err != nil {
		return nil, err
	}
	return d.Bind()
}
