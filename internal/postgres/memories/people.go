package memories

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// ofTenant selects the entries of a tenant: of one session, or of all sessions if session is empty.
func ofTenant(tenantID, session string, limit int) db.Values {
	return db.Values{"tenant_id": db.Text(tenantID), "session": db.Text(session), "every_session": session == "", "most": limit}
}

// MemoryOfTenant returns entries of a tenant, at and below a directory, for commands of people. It returns entries of every kind
// without their contents, up to limit, the last written first. An empty session means all sessions.
func (s *Store) MemoryOfTenant(ctx context.Context, tenantID, session, under string, limit int) ([]capability.MemoryEntry, error) {
	under, err := cleanDir(under)
	if err != nil {
		return nil, err
	}
	rows, err := db.All[entryRow](ctx, s.db, "memory of tenant", db.Query("ListTenant", ofTenant(tenantID, session, limit).And("under", under)))
	entries, _ := page(rows, limit)
	return entries, err
}

// SearchTenantMemory finds entries of a tenant by whole words, for commands of people. It returns entries of every kind, up to
// limit. An empty session means all sessions.
func (s *Store) SearchTenantMemory(ctx context.Context, tenantID, session, query string, limit int) ([]capability.MemoryHit, error) {
	return s.search(ctx, "SearchTenant", ofTenant(tenantID, session, limit), query)
}

// ShowMemory returns an entry of any kind for people.
func (s *Store) ShowMemory(ctx context.Context, tenantID, session, path string) (capability.MemoryEntry, error) {
	path, err := clean(path)
	if err != nil {
		return capability.MemoryEntry{}, err
	}
	row, found, err := db.First[entryRow](ctx, s.db, "show memory", db.Query("Entry", scope(capability.MemoryCaller{TenantID: tenantID, Session: session}).And("path", path)))
	if err == nil && (!found || row.Expired) {
		err = capability.ErrNoMemory
	}
	if err != nil {
		return capability.MemoryEntry{}, err
	}
	return row.entry(), nil
}

// DeleteMemory deletes an entry of any kind for a person. The checkpoints and decisions of a goal stay. The
// audit trail records the person by, the path and the kind.
func (s *Store) DeleteMemory(ctx context.Context, tenantID, session, path, by string) (capability.MemoryEntry, error) {
	path, err := clean(path)
	if err != nil {
		return capability.MemoryEntry{}, err
	}
	caller := capability.MemoryCaller{TenantID: tenantID, Session: session, ActorID: by}
	return s.write(ctx, "delete memory", caller, func(w *write) (capability.MemoryEntry, error) {
		before, err := w.read(ctx, path)
		if err != nil {
			return before.MemoryEntry, err
		}
		if !before.exists() {
			return before.MemoryEntry, capability.ErrNoMemory
		}
		e, err := w.remove(ctx, before)
		if err != nil {
			return e, err
		}
		_, _, err = db.Sent[struct{}](ctx, s.db, w.tx, db.Query("RecordDeletion", w.of.With(db.Values{"kind": e.Kind, "path": e.Path, "by": db.Text(by)})))
		return e, err
	})
}

// DeleteSessionMemory deletes all entries of a session for a person, of every kind, and returns their
// number, which includes expired entries that upkeep has not deleted. It returns ErrNoMemory if there
// is no entry. The audit trail records the person by and the number in one event.
func (s *Store) DeleteSessionMemory(ctx context.Context, tenantID, session, by string) (entries int64, err error) {
	caller := capability.MemoryCaller{TenantID: tenantID, Session: session, ActorID: by}
	_, err = s.write(ctx, "delete session memory", caller, func(w *write) (e capability.MemoryEntry, err error) {
		deleted, _, err := db.Sent[usageRow](ctx, s.db, w.tx, db.Query("DeleteSession", w.of))
		if err != nil {
			return e, err
		}
		if entries = deleted.Entries; entries == 0 {
			return e, capability.ErrNoMemory
		}
		if err := w.count(ctx, -entries, -deleted.Bytes, e); err != nil {
			return e, err
		}
		_, _, err = db.Sent[struct{}](ctx, s.db, w.tx, db.Query("RecordSessionDeletion", w.of.With(db.Values{"entries": entries, "by": db.Text(by)})))
		return e, err
	})
	if err != nil {
		return 0, err
	}
	return entries, nil
}
