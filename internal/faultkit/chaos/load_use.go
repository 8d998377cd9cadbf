package chaos

import (
	"context"
	"fmt"
	"time"
)

// Use is what the workers use at a time of a step.
type Use struct {
	// AtSeconds is the time since the begin of the step.
	AtSeconds float64 `json:"atSeconds"`
	// MemoryMiB is the memory of all workers, Files are their open files and sockets. Both are 0 if the system does not tell.
	MemoryMiB int `json:"memoryMiB"`
	Files     int `json:"files"`
	// Connections are the connections of workers to the database.
	Connections int `json:"connections"`
}

// String is the line of a use.
func (u Use) String() string {
	return fmt.Sprintf("after %.0f s the workers use %d MiB, %d files and %d connections", u.AtSeconds, u.MemoryMiB, u.Files, u.Connections)
}

// use reads what the workers use.
func (l *load) use(ctx context.Context, began time.Time) (u Use, err error) {
	u.AtSeconds = time.Since(began).Seconds()
	for _, s := range l.workers.slots {
		bytes, files := memory(s.get().pid())
		u.MemoryMiB += int(bytes >> 20)
		u.Files += files
	}
	sessions, err := l.servers.store.WorkerSessions(ctx)
	u.Connections = int(sessions)
	return u, err
}
