package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/registrations"
	"github.com/pawl-run/pawl/internal/registered"
	"github.com/pawl-run/pawl/internal/web"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/source"
)

const (
	// registeredPoll is the longest delay of a change if its notification was lost. It is shorter than the time
	// for which a version that has ended stays in use.
	registeredPoll = 30 * time.Second
	// registeredRetry is the pause after a look at the registrations that failed.
	registeredRetry = 2 * time.Second
	// maxEarlier bounds the versions of a registration that are kept for open calls.
	maxEarlier = 20
	// maxFaults bounds the faults that an offer names.
	maxFaults = 5
)

// registrationStore has the registrations.
type registrationStore interface {
	RegistrationsInUse(ctx context.Context) ([]registrations.InUse, error)
	RegistrationDocuments(ctx context.Context, ids []int64) (map[int64]string, error)
}

// registeredTools is the source of the tools that are registered in the database. It has those of every
// tenant; policy holds the tenants apart. A registration that cannot be read leaves out its own tools only.
type registeredTools struct {
	store registrationStore
	// moved has a value if registrations may have changed.
	moved <-chan struct{}
	// serve returns the source of a registered MCP server.
	serve func(mcp.Server) (source.Source, error)
	log   *slog.Logger
	every time.Duration
}

func newRegisteredTools(o *opened, c Config, store *postgres.Store, reviews *mcpReviews, moved <-chan struct{}) *registeredTools {
	public := web.NewPublic(web.Options{Ports: c.Web.Ports})
	o.add(public.Close)
	return &registeredTools{
		store: store, moved: moved, log: c.Log, every: registeredPoll,
		serve: func(s mcp.Server) (source.Source, error) {
			s.Dial = public.Dial
			// A registration names no variable of the worker.
			return mcp.NewSource(s, mcp.Options{Reviews: reviews, Log: c.Log, Lookup: func(string) (string, bool) { return "", false }})
		},
	}
}

// Info returns the kind: there is one source of registered tools.
func (*registeredTools) Info() source.Info { return source.Info{Kind: source.Registered} }

// Run offers the tools of the registrations, and again when they change.
func (r *registeredTools) Run(ctx context.Context, offer func(source.Offer)) error {
	read, servers, spoke := map[int64]*registration{}, &sync.WaitGroup{}, make(chan struct{}, 1)
	defer func() {
		for _, one := range read {
			one.server.stop()
		}
		servers.Wait()
	}()
	for {
		fault, wait := r.look(ctx, read, servers, spoke), r.every
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fault != "" {
			wait = registeredRetry
		}
		timer := time.NewTimer(wait)
		for again := false; !again; {
			offer(offerRegistered(read, fault))
			select {
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			case <-spoke: // a server has other tools
			case <-r.moved:
				again = true
			case <-timer.C:
				again = true
			}
		}
		timer.Stop()
	}
}

// registration is a version that this worker has read.
type registration struct {
	registrations.InUse

	tools  []toolspec.Tool
	server *registeredServer
	fault  string
}

// look makes read the versions that are in use now. fault says that they cannot be read: those of before
// stay.
func (r *registeredTools) look(ctx context.Context, read map[int64]*registration, servers *sync.WaitGroup, spoke chan<- struct{}) (fault string) {
	const away = "the registrations of tools cannot be read from the database"
	rows, err := r.store.RegistrationsInUse(ctx)
	if err != nil {
		return away
	}
	inUse, missing := needed(rows), []int64{}
	for id := range inUse {
		if read[id] == nil {
			missing = append(missing, id)
		}
	}
	documents := map[int64]string{}
	if len(missing) > 0 {
		if documents, err = r.store.RegistrationDocuments(ctx, missing); err != nil {
			return away
		}
	}
	for id, one := range read {
		if _, still := inUse[id]; !still {
			one.server.stop()
			delete(read, id)
		}
	}
	for id, row := range inUse {
		if read[id] == nil {
			read[id] = r.read(ctx, row, documents[id], servers, spoke)
		}
		read[id].InUse = row
	}
	return ""
}

// needed returns the rows by id, without versions that have ended beyond maxEarlier of a name.
func needed(rows []registrations.InUse) map[int64]registrations.InUse {
	kept, earlier := make(map[int64]registrations.InUse, len(rows)), map[[2]string]int{}
	for _, row := range rows {
		if name := [2]string{row.TenantID, row.Name}; !row.InForce {
			if earlier[name]++; earlier[name] > maxEarlier {
				continue
			}
		}
		kept[row.ID] = row
	}
	return kept
}

// read reads a document. What is wrong with it is a fault of this registration only.
func (r *registeredTools) read(ctx context.Context, row registrations.InUse, text string, servers *sync.WaitGroup, spoke chan<- struct{}) (one *registration) {
	one = &registration{}
	defer func() {
		if p := recover(); p != nil {
			one.tools, one.fault = nil, fmt.Sprintf("reading it panicked (%T)", p)
		}
	}()
	d, err := registered.Read(row.TenantID, row.Kind, fmt.Sprintf("version %d", row.Version), []byte(text))
	if err != nil {
		one.fault = reasonOf(err)
		return one
	}
	one.tools = d.Tools
	if row.Kind != registrations.MCP {
		return one
	}
	from, err := r.serve(d.Server)
	if err != nil {
		one.fault = errs.Reason(err)
		return one
	}
	one.server = serveRegistered(ctx, from, r.log, servers, spoke)
	return one
}

// offerRegistered returns the tools of all registrations.
func offerRegistered(read map[int64]*registration, fault string) (o source.Offer) {
	var faults []string
	if fault != "" {
		faults = append(faults, fault)
	}
	for _, id := range slices.Sorted(maps.Keys(read)) {
		one := read[id]
		has := source.Offer{Tools: one.tools, Fault: one.fault}
		if one.server != nil {
			has = one.server.offered()
		}
		if !one.InForce {
			o.Earlier = append(o.Earlier, has.Tools...)
			continue
		}
		o.Tools = append(o.Tools, has.Tools...)
		if has.Fault != "" {
			faults = append(faults, fmt.Sprintf("%s of tenant %s: %s", one.Name, one.TenantID, has.Fault))
		}
	}
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", more))
	}
	o.Fault = strings.Join(faults, "; ")
	return o
}
