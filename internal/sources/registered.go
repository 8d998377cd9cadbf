package sources

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
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/registrations"
	"github.com/pawl-run/pawl/internal/registered"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/source"
)

const (
	// registeredPoll is how often a worker looks at the registrations without a notification, so that it sees a change
	// whose notification was lost. It is shorter than the time for which a version that has ended stays in use.
	registeredPoll = 30 * time.Second
	// registeredRetry is the pause after a look at the registrations that failed.
	registeredRetry = 2 * time.Second
	// registeredPause is the least time between two looks at the registrations, and between two offers.
	registeredPause = time.Second
	// maxEarlier bounds the ended versions of one registration that a worker keeps for open calls.
	maxEarlier = 20
	// maxAllBytes bounds the documents of all tenants that a worker keeps, in bytes.
	maxAllBytes = 512 << 20
	// batchBytes bounds the documents that a worker reads from the database at a time, in bytes.
	batchBytes = 8 << 20
	// maxFaults bounds the faults that an offer names.
	maxFaults = 5
)

// RegistrationStore has the registrations.
type RegistrationStore interface {
	RegistrationsInUse(ctx context.Context) ([]registrations.InUse, error)
	RegistrationDocuments(ctx context.Context, ids []int64) (map[int64]string, error)
}

// registeredTools is the source of the tools that are registered in the database. It has the tools of all
// tenants, and policy decides which tenant may call a tool. A registration that cannot be read leaves out
// only its own tools.
type registeredTools struct {
	store RegistrationStore
	moved <-chan struct{}
	serve func(mcp.Server) (source.Source, error)
	log   *slog.Logger
	every time.Duration
	// pause is registeredPause.
	pause time.Duration
}

// Registered returns the source of the tools that are registered in the database. It looks at the registrations when
// moved has a value, and from time to time. serve returns the source of a registered MCP server.
func Registered(store RegistrationStore, moved <-chan struct{}, serve func(mcp.Server) (source.Source, error), log *slog.Logger) source.Source {
	return &registeredTools{store: store, moved: moved, serve: serve, log: log, every: registeredPoll, pause: registeredPause}
}

// Info returns the kind: there is one source of registered tools.
func (*registeredTools) Info() source.Info { return source.Info{Kind: source.Registered} }

// Run offers the tools of the registrations, and offers them again when they change.
func (r *registeredTools) Run(ctx context.Context, offer func(source.Offer)) error {
	read, servers, serverChanged := map[int64]*registration{}, &sync.WaitGroup{}, make(chan struct{}, 1)
	defer func() {
		for _, one := range read {
			one.server.stop()
		}
		servers.Wait()
	}()
	for last := "none"; ; {
		fault, wait := r.look(ctx, read, servers, serverChanged), r.every
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fault != "" {
			wait = registeredRetry
		}
		timer := time.NewTimer(wait)
		for lookAgain := false; !lookAgain; {
			// Each offer makes the worker bind all tools, so Run makes no offer that changes nothing.
			if o, state := offerRegistered(read, fault); state != last {
				last = state
				offer(o)
			}
			if db.Pause(ctx, r.pause); ctx.Err() != nil {
				timer.Stop()
				return ctx.Err()
			}
			select {
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			case <-serverChanged: // a server has other tools
			case <-r.moved:
				lookAgain = true
			case <-timer.C:
				lookAgain = true
			}
		}
		timer.Stop()
	}
}

// registration is a version of a registration that this worker has read.
type registration struct {
	registrations.InUse

	tools  []toolspec.Tool
	server *registeredServer
	fault  string
}

// look updates read, the versions that this worker has read, to the versions that are in use now. fault says
// that the database cannot be read, so that read keeps its earlier versions, or that the worker has no room for
// some versions.
func (r *registeredTools) look(ctx context.Context, read map[int64]*registration, servers *sync.WaitGroup, serverChanged chan<- struct{}) (fault string) {
	const away = "the registrations of tools cannot be read from the database"
	rows, err := r.store.RegistrationsInUse(ctx)
	if err != nil {
		return away
	}
	inUse, leftOut := versionsToKeep(rows)
	for id, one := range read {
		if _, still := inUse[id]; !still {
			one.server.stop()
			delete(read, id)
		}
	}
	for _, batch := range batches(inUse, read) {
		documents, err := r.store.RegistrationDocuments(ctx, batch)
		if err != nil {
			return away
		}
		for _, id := range batch {
			read[id] = r.read(ctx, inUse[id], documents[id], servers, serverChanged)
		}
	}
	for id, row := range inUse {
		read[id].InUse = row
	}
	if leftOut > 0 {
		return fmt.Sprintf("%d registrations have no room in the memory of this worker", leftOut)
	}
	return ""
}

// versionsToKeep returns the rows that the worker keeps, by id. It takes the rows in force first, and then the newest
// rows that have ended, at most maxEarlier with the same name. It leaves out a row that would exceed a bound of its
// tenant or of the worker. leftOut is the number of rows in force that it leaves out. rows must have the order of
// RegistrationsInUse.
func versionsToKeep(rows []registrations.InUse) (kept map[int64]registrations.InUse, leftOut int) {
	type usage struct{ versions, servers, bytes int }
	kept, ofTenant, earlier, allBytes := make(map[int64]registrations.InUse, len(rows)), map[string]*usage{}, map[[2]string]int{}, 0
	for _, ended := range []bool{false, true} {
		for _, row := range rows {
			if row.InForce == ended {
				continue
			}
			used := ofTenant[row.TenantID]
			if used == nil {
				used = &usage{}
				ofTenant[row.TenantID] = used
			}
			server := 0
			if row.Kind == registrations.MCP {
				server = 1
			}
			name := [2]string{row.TenantID, row.Name}
			isFull := used.versions+1 > registrations.MaxVersions || used.servers+server > registrations.MaxServers ||
				used.bytes+row.Bytes > registrations.MaxBytes || allBytes+row.Bytes > maxAllBytes
			switch {
			case isFull && row.InForce:
				leftOut++
				continue
			case isFull:
				continue
			case ended && earlier[name] == maxEarlier:
				continue
			case ended:
				earlier[name]++
			}
			used.versions, used.servers, used.bytes, allBytes = used.versions+1, used.servers+server, used.bytes+row.Bytes, allBytes+row.Bytes
			kept[row.ID] = row
		}
	}
	return kept, leftOut
}

// batches returns the ids of the rows that were not read, in batches. The documents of a batch have at most batchBytes together,
// unless one document alone is larger.
func batches(inUse map[int64]registrations.InUse, read map[int64]*registration) (all [][]int64) {
	bytes := 0
	for _, id := range slices.Sorted(maps.Keys(inUse)) {
		if read[id] != nil {
			continue
		}
		size := inUse[id].Bytes
		if len(all) == 0 || bytes+size > batchBytes {
			all, bytes = append(all, nil), 0
		}
		all[len(all)-1] = append(all[len(all)-1], id)
		bytes += size
	}
	return all
}

// read reads the document of a registration. An error or a panic is a fault of this registration only.
func (r *registeredTools) read(ctx context.Context, row registrations.InUse, text string, servers *sync.WaitGroup, serverChanged chan<- struct{}) (one *registration) {
	one = &registration{InUse: row}
	defer func() {
		if p := recover(); p != nil {
			one.tools, one.fault = nil, fmt.Sprintf("reading it panicked (%T)", p)
		}
	}()
	d, err := registered.Read(row.TenantID, row.Kind, fmt.Sprintf("version %d", row.Version), []byte(text))
	if err != nil {
		one.fault = FileFault(err)
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
	one.server = serveRegistered(ctx, from, r.log, servers, serverChanged)
	return one
}

// offerRegistered returns the offer with the tools of all registrations, and a text that stands for the content of the
// offer: if two states are equal, so are the offers.
func offerRegistered(read map[int64]*registration, fault string) (o source.Offer, state string) {
	var faults []string
	if fault != "" {
		faults = append(faults, fault)
	}
	bridges := bridged(read)
	text := &strings.Builder{}
	for _, id := range slices.Sorted(maps.Keys(read)) {
		one := read[id]
		last, offerCount := source.Offer{Tools: one.tools, Fault: one.fault}, 0
		if one.server != nil {
			last, offerCount = one.server.offered()
		}
		inOffer := one.InForce || bridges[id]
		fmt.Fprintln(text, id, inOffer, one.InForce, offerCount)
		if inOffer {
			o.Tools = append(o.Tools, last.Tools...)
		} else {
			o.Earlier = append(o.Earlier, last.Tools...)
		}
		if one.InForce && last.Fault != "" {
			faults = append(faults, fmt.Sprintf("%s of tenant %s: %s", one.Name, one.TenantID, last.Fault))
		}
	}
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", more))
	}
	o.Fault = strings.Join(faults, "; ")
	return o, text.String() + o.Fault
}

// bridged returns the ids of the ended versions of MCP servers whose tools stay until the version in force has offered
// tools. Without them, a change such as another timeout would make the tools of the server unavailable while its new
// session begins. Of several ended versions of a server, the newest one that has offered tools stays.
func bridged(read map[int64]*registration) map[int64]bool {
	bridgeOf, ids := map[[2]string]int64{}, map[int64]bool{}
	for _, one := range read {
		if one.InForce && one.server != nil && !one.server.hasOffered() {
			bridgeOf[[2]string{one.TenantID, one.Name}] = 0 // no bridge is found yet
		}
	}
	for id, one := range read {
		name := [2]string{one.TenantID, one.Name}
		newest, needsBridge := bridgeOf[name]
		hasEnded := !one.InForce
		if needsBridge && hasEnded && one.server.hasOffered() && id > newest {
			bridgeOf[name] = id
		}
	}
	for _, id := range bridgeOf {
		ids[id] = true
	}
	return ids
}
