package memories

import (
	"cmp"
	"embed"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/capability"
)

//go:embed *.sql
var files embed.FS

// Limits bound what is kept. The zero value of a field means its default. A path, a title and a
// content count with their bytes.
type Limits struct {
	// SessionEntries bounds the entries of one session. The default is 1000.
	SessionEntries int64
	// SessionBytes bounds the bytes of one session. The default is 4 MiB.
	SessionBytes int64
	// TenantEntries bounds the entries of all sessions of one tenant. The default is 100 000.
	TenantEntries int64
	// TenantBytes bounds the bytes of all sessions of one tenant. The default is 256 MiB.
	TenantBytes int64
}

// Store stores the entries of sessions. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	limits Limits
}

var (
	_ capability.Memory = (*Store)(nil)
	_ capability.Plans  = (*Store)(nil)
)

// New returns a Store that uses the database d.
func New(d *db.DB) *Store {
	s := &Store{db: d.With(files)}
	s.LimitMemory(Limits{})
	return s
}

// LimitMemory sets the limits. Call it before the first use of the Store.
func (s *Store) LimitMemory(l Limits) {
	s.limits = Limits{
		SessionEntries: cmp.Or(l.SessionEntries, 1000), SessionBytes: cmp.Or(l.SessionBytes, 4<<20),
		TenantEntries: cmp.Or(l.TenantEntries, 100_000), TenantBytes: cmp.Or(l.TenantBytes, 256<<20),
	}
}

// entryRow is a row of the statements that read entries.
type entryRow struct {
	Session, Path, Kind             string
	Number                          int64
	Title, Content, Status          string
	Active                          bool
	Bytes                           int
	Version                         int64
	Trust                           string
	ActorID, RunID, ToolCallID      string
	CreatedAt, UpdatedAt, ExpiresAt time.Time

	Expired bool
}

// hitRow is a row of the statements that search.
type hitRow struct {
	entryRow
	Excerpt string
}

// lockedRow is a row of the statement Locked.
type lockedRow struct {
	Entries, Bytes, Numbered, Version int64
	Answer                            json.RawMessage
}

// timesRow is a row of the statement Put.
type timesRow struct{ CreatedAt, UpdatedAt, ExpiresAt time.Time }

// countRow is a row of the statements CountTenant, DeleteExpired and ForgetSessions.
type countRow struct{ Entries int64 }

// usageRow is a row of the statement DeleteSession.
type usageRow struct{ Entries, Bytes int64 }

// pathRow is a row of the statement ActiveGoal.
type pathRow struct{ Path string }

func (r entryRow) entry() capability.MemoryEntry {
	return capability.MemoryEntry{
		Path: r.Path, Session: r.Session, Kind: capability.MemoryKind(r.Kind), Number: r.Number, Title: r.Title, Content: r.Content,
		Status: r.Status, Active: r.Active, Bytes: r.Bytes, Version: r.Version, Trust: capability.MemoryTrust(r.Trust),
		ActorID: r.ActorID, RunID: r.RunID, ToolCallID: r.ToolCallID, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt,
	}
}

// size returns the bytes of an entry that count against the quotas.
func size(e capability.MemoryEntry) int64 {
	return int64(len(e.Path) + len(e.Title) + len(e.Content))
}
