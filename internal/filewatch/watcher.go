package filewatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// Every is the interval between two looks. A change is an event when two looks have found it the same, so that a file that is being written is
	// none. It is a poll and not a notification of the kernel: file systems in the network have none, and each directory would need a watch.
	Every = 2 * time.Second
	// MaxTriggers bounds the triggers that a worker looks for.
	MaxTriggers = 50
	// MaxFiles bounds the files of one trigger.
	MaxFiles = 10000
	// lookTimeout bounds a look for one trigger.
	lookTimeout = 30 * time.Second
)

// skipped are the names of directories that no look enters.
var skipped = []string{".git"}

// errTooMany means that more files match than a worker remembers. errTriggers means that there are more triggers than a worker watches for. errUnread
// means that a directory could not be read.
var (
	errTooMany  = fmt.Errorf("more than %d files match", MaxFiles)
	errTriggers = fmt.Errorf("a worker watches files for at most %d triggers", MaxTriggers)
	errUnread   = errors.New("a directory cannot be read")
)

// Store has the triggers, and their queue.
type Store interface {
	// FileTriggers returns up to limit active triggers with on: files.
	FileTriggers(ctx context.Context, limit int) ([]trigger.Document, error)
	// QueueEvents queues events of a trigger. An event that is known is not queued again.
	QueueEvents(ctx context.Context, d trigger.Document, namespace string, events []trigger.Event) error
}

// Watcher queues the changes of files. Any number of workers may watch one directory: each change is one event.
type Watcher struct {
	store     Store
	files     func(toolspec.Context) capability.Files
	namespace string
	log       *slog.Logger
	watched   map[key]*watched
	// said has what the log has said already, so that a fault is logged once and not with each look.
	said map[key]string
}

type key struct{ tenantID, name string }

// New returns a Watcher for the workers of a Temporal namespace. files returns the workspace of a tenant. Run starts it.
func New(store Store, files func(toolspec.Context) capability.Files, namespace string, log *slog.Logger) *Watcher {
	return &Watcher{store: store, files: files, namespace: namespace, log: log, watched: map[key]*watched{}, said: map[key]string{}}
}

// Run looks until ctx ends, and then returns ctx's error.
func (w *Watcher) Run(ctx context.Context) error {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// look looks once for each trigger. A trigger that is new or has another version starts with the files that are there.
func (w *Watcher) look(ctx context.Context) {
	all, err := w.store.FileTriggers(ctx, MaxTriggers+1)
	if len(all) > MaxTriggers {
		all, err = all[:MaxTriggers], errTriggers
	}
	w.report(ctx, key{}, err)
	if len(all) == 0 && err != nil {
		return
	}
	now := map[key]*watched{}
	for _, d := range all {
		k := key{d.TenantID, d.Name}
		at := w.watched[k]
		if at == nil || at.version != d.Version {
			at = &watched{version: d.Version}
		}
		now[k] = at
		w.report(ctx, k, w.lookFor(ctx, d, at))
	}
	w.watched = now
}

func (w *Watcher) lookFor(ctx context.Context, d trigger.Document, at *watched) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := walk(ctx, w.files(toolspec.Context{TenantID: d.TenantID}), *d.Files)
	if err != nil {
		return err // what was not seen is not removed
	}
	if at.known == nil {
		at.known = found
		return nil
	}
	changes := at.compare(found)
	var events []trigger.Event
	for _, c := range changes {
		if d.Files.Takes(c.kind) {
			events = append(events, c.event())
		}
	}
	if len(events) > 0 {
		if err := w.store.QueueEvents(ctx, d, w.namespace, events); err != nil {
			return err // the next look finds them again
		}
	}
	at.settle(changes)
	return nil
}

// report logs a fault of a trigger, or of the store for the zero key, when it begins.
func (w *Watcher) report(ctx context.Context, of key, err error) {
	if err == nil || ctx.Err() != nil {
		delete(w.said, of)
		return
	}
	reason := errs.Reason(err)
	for _, known := range []error{errTooMany, errTriggers, errUnread, capability.ErrBadPattern} {
		if errors.Is(err, known) {
			reason = known.Error()
		}
	}
	if w.said[of] != reason {
		w.said[of] = reason
		w.log.WarnContext(ctx, "changes of files are not seen", "tenant", of.tenantID, "trigger", of.name, "reason", reason)
	}
}

// walk returns the files of a trigger.
func walk(ctx context.Context, files capability.Files, o trigger.FilesOptions) (map[string]file, error) {
	var mu sync.Mutex
	found := map[string]file{}
	err := files.Walk(ctx, ".", capability.WalkOptions{Include: o.Include, Exclude: o.Exclude, SkipDirs: skipped}, func(f capability.Found) error {
		if errors.Is(f.Err(), capability.ErrNotExist) {
			return nil // the directory is gone since
		}
		if f.Err() != nil {
			return errUnread
		}
		e, err := f.Stat()
		if errors.Is(err, capability.ErrNotExist) || errors.Is(err, capability.ErrNotRegular) {
			return nil // it is gone since
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if len(found) == MaxFiles {
			return errTooMany
		}
		found[e.Path] = file{e.Size, e.Modified.UnixNano()}
		return nil
	})
	return found, err
}
