package runs

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// hub has the connection that listens for events, which all watchers of a process share. The
// connection exists while there is a watcher.
type hub struct {
	db *db.DB

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	stop     context.CancelFunc
	stopped  chan struct{}
}

// watcher is a place to wait for events of a run.
type watcher struct {
	// key is the payload of the notifications of the run; "" until it is known. hub.mu guards it.
	key  string
	wake chan struct{}
}

func newHub(d *db.DB) *hub { return &hub{db: d, watchers: map[*watcher]struct{}{}} }

// join adds a watcher. The first watcher starts the listener.
func (h *hub) join() *watcher {
	w := &watcher{wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[w] = struct{}{}
	if h.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		stopped := make(chan struct{})
		h.stop, h.stopped = cancel, stopped
		go func() {
			defer close(stopped)
			h.listen(ctx)
		}()
	}
	return w
}

// leave removes a watcher. The last watcher stops the listener and waits until it has closed its
// connection, so that a Store can be closed after its watchers.
func (h *hub) leave(w *watcher) {
	h.mu.Lock()
	delete(h.watchers, w)
	var stopped chan struct{}
	if len(h.watchers) == 0 && h.stop != nil {
		h.stop()
		stopped = h.stopped
		h.stop, h.stopped = nil, nil
	}
	h.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

// setKey makes the watcher wake at notifications with the payload key.
func (h *hub) setKey(w *watcher, key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.key = key
}

// notify wakes the watchers of a run, or all watchers if key is empty. It does not block: a watcher
// that has not handled the last wake-up needs no second one.
func (h *hub) notify(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if key != "" && w.key != key {
			continue
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// listen holds a connection until ctx ends and wakes the watchers. After a lost connection it wakes
// all watchers, because they may have missed a notification. It reports no error: the reads of the
// watchers fail too, and each watcher reports its own error.
func (h *hub) listen(ctx context.Context) {
	h.db.Listen(ctx, db.Listener{
		Connected: func() { h.notify("") },
		Notified:  func(n *pgconn.Notification) { h.notify(n.Payload) },
	}, db.Query("ListenRuns", db.Values{}))
}
