package memories

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// errNoCaller is the error of a caller without a tenant, a session or an actor, which would be a fault of a tool.
var errNoCaller = errors.New("the caller has no tenant, no session or no actor")

// write is one write of a caller. It holds the lock of the session.
type write struct {
	store  *Store
	tx     pgx.Tx
	by     capability.MemoryCaller
	of     db.Values
	locked lockedRow
}

// stored is an entry as it is in the database. The zero value is no entry.
type stored struct {
	capability.MemoryEntry
	found, expired bool
}

// write runs f with the lock of the session and returns the entry that f returns, without its content.
// If the call has written before, it does not run f, and returns the entry of the earlier write.
func (s *Store) write(ctx context.Context, op string, by capability.MemoryCaller, f func(w *write) (capability.MemoryEntry, error)) (e capability.MemoryEntry, err error) {
	if by.TenantID == "" || by.Session == "" || by.ActorID == "" {
		return e, db.Failure(op, errNoCaller)
	}
	if by.Trust == "" {
		by.Trust = capability.TrustModel
	}
	w := &write{store: s, by: by, of: scope(by)}
	// refused is the error of f. A capability.MemoryError is an answer to the caller, so it is returned
	// unchanged, and not as an error of the database.
	var refused error
	err = s.db.Within(ctx, op, func(tx pgx.Tx) error {
		w.tx = tx
		var err error
		if w.locked, _, err = db.Sent[lockedRow](ctx, s.db, tx, db.Query("BoundWaits", db.Values{}), db.Query("LockSession", w.of),
			db.Query("Locked", w.of.And("key", db.Text(by.Key)))); err != nil {
			return err
		}
		if len(w.locked.Answer) > 0 {
			e, err = db.Decoded[capability.MemoryEntry](w.locked.Answer)
			return err
		}
		e, refused = f(w)
		return refused
	})
	var answer *capability.MemoryError
	if errors.As(refused, &answer) {
		return capability.MemoryEntry{}, refused
	}
	if err != nil {
		return capability.MemoryEntry{}, err
	}
	e.Content = ""
	return e, nil
}

func scope(by capability.MemoryCaller) db.Values {
	return db.Values{"tenant_id": db.Text(by.TenantID), "session": db.Text(by.Session)}
}

// read returns the entry at a path.
func (w *write) read(ctx context.Context, path string) (stored, error) {
	row, found, err := db.Sent[entryRow](ctx, w.store.db, w.tx, db.Query("Entry", w.of.And("path", path)))
	return stored{row.entry(), found, row.Expired}, err
}

// exists reports whether there is an entry that has not expired.
func (e stored) exists() bool { return e.found && !e.expired }

// put stores next in place of before, with the caller as its author.
func (w *write) put(ctx context.Context, before stored, next capability.MemoryEntry, keep time.Duration) (capability.MemoryEntry, error) {
	if longest := capability.LongestMemoryKeep(w.by.Session); keep <= 0 || keep > longest {
		keep = longest
	}
	if len(next.Content) > capability.MaxMemoryEntry {
		return next, capability.ErrMemoryTooLarge
	}
	// The arguments of a call are searched for secrets before the call. But several calls can write the parts of a credential, and
	// AddReasoning stores text without a call.
	if toolspec.SecretValue(next.Title) || toolspec.SecretValue(next.Content) || toolspec.SecretValue(next.Path) {
		return next, capability.ErrMemorySecret
	}
	next.Session, next.ActorID, next.RunID, next.ToolCallID = w.by.Session, w.by.ActorID, w.by.RunID, w.by.ToolCallID
	next.Bytes, next.Version = len(next.Content), w.locked.Version+1
	var createdAt *time.Time
	if before.exists() {
		next.Number, createdAt = before.Number, &before.CreatedAt
	} else if next.Number == 0 {
		next.Number = w.locked.Numbered + 1
	}
	var steps []db.Step
	if next.Active {
		steps = append(steps, db.Query("Deactivate", w.of.And("path", next.Path)))
	}
	times, _, err := db.Sent[timesRow](ctx, w.store.db, w.tx, append(steps, db.Query("Put", w.of.With(db.Values{
		"path": next.Path, "kind": next.Kind, "number": next.Number, "title": next.Title, "content": next.Content, "status": next.Status,
		"active": next.Active, "version": next.Version, "trust": next.Trust, "actor_id": db.Text(next.ActorID), "run_id": db.Text(next.RunID),
		"tool_call_id": db.Text(next.ToolCallID), "created_at": createdAt, "keep_seconds": keep.Seconds(),
		"words": strings.ToLower(strings.ReplaceAll(next.Path, "/", " ") + " " + next.Title + " " + next.Content),
	})))...)
	if err != nil {
		return next, err
	}
	next.CreatedAt, next.UpdatedAt, next.ExpiresAt = times.CreatedAt, times.UpdatedAt, times.ExpiresAt
	entries, bytes := int64(1), size(next)
	if before.found {
		entries, bytes = 0, bytes-size(before.MemoryEntry)
	}
	return next, w.count(ctx, entries, bytes, next)
}

// remove deletes an entry.
func (w *write) remove(ctx context.Context, before stored) (capability.MemoryEntry, error) {
	if _, _, err := db.Sent[struct{}](ctx, w.store.db, w.tx, db.Query("Delete", w.of.And("path", before.Path))); err != nil {
		return before.MemoryEntry, err
	}
	return before.MemoryEntry, w.count(ctx, -1, -size(before.MemoryEntry), before.MemoryEntry)
}

// count adds entries and bytes to the usage of the session and of the tenant, and saves the answer for a repeated write of the call. It returns
// ErrMemoryFull or ErrMemoryTenantFull if the usage would exceed a limit.
func (w *write) count(ctx context.Context, entries, bytes int64, answer capability.MemoryEntry) error {
	most := w.store.limits
	if entries > 0 && w.locked.Entries+entries > most.SessionEntries || bytes > 0 && w.locked.Bytes+bytes > most.SessionBytes {
		return capability.ErrMemoryFull
	}
	answer.Content = ""
	encoded, err := db.Encoded(answer)
	if err != nil {
		return err
	}
	_, counted, err := db.Sent[countRow](ctx, w.store.db, w.tx,
		db.Query("SaveAnswer", w.of.With(db.Values{"key": db.Text(w.by.Key), "answer": encoded})),
		db.Query("CountSession", w.of.With(db.Values{"entries": entries, "bytes": bytes, "number": answer.Number, "version": answer.Version})),
		db.Query("CountTenant", db.Values{
			"tenant_id": db.Text(w.by.TenantID), "entries": entries, "bytes": bytes, "most_entries": most.TenantEntries, "most_bytes": most.TenantBytes,
		}))
	if err == nil && !counted {
		return capability.ErrMemoryTenantFull
	}
	return err
}

// add stores a new entry below a directory. It chooses the last part of the path: prefix and the next number of the session.
func (w *write) add(ctx context.Context, dir, prefix string, next capability.MemoryEntry, keep time.Duration) (capability.MemoryEntry, error) {
	next.Number = w.locked.Numbered + 1
	next.Path = dir + "/" + prefix + strconv.FormatInt(next.Number, 10)
	before, err := w.read(ctx, next.Path)
	if err != nil {
		return next, err
	}
	return w.put(ctx, before, next, keep)
}

// WriteMemory implements capability.Memory.
func (s *Store) WriteMemory(ctx context.Context, by capability.MemoryCaller, in capability.MemoryWrite) (capability.MemoryEntry, error) {
	path, err := clean(in.Path)
	if err != nil {
		return capability.MemoryEntry{}, err
	}
	if in.Kind == "" {
		in.Kind = capability.MemoryNote
	}
	in.Content, in.Title, in.Old = db.Text(in.Content), db.Text(in.Title), db.Text(in.Old)
	return s.write(ctx, "write memory", by, func(w *write) (capability.MemoryEntry, error) {
		next := capability.MemoryEntry{Path: path, Kind: in.Kind, Title: in.Title, Content: in.Content, Trust: w.by.Trust}
		if in.Action == capability.MemoryAdd {
			return w.add(ctx, path, "", next, in.Keep)
		}
		before, err := w.read(ctx, path)
		if err != nil {
			return next, err
		}
		if err := checkWrite(in, path, before); err != nil {
			return next, err
		}
		switch in.Action {
		case capability.MemoryDelete:
			return w.remove(ctx, before)
		case capability.MemoryAppend:
			next.Content = before.Content + in.Content
		case capability.MemoryReplace:
			if next.Content, err = replaced(before.Content, in.Old, in.Content); err != nil {
				return next, err
			}
		default:
		}
		// An entry has the trust of a person only if people have written all its parts.
		if in.Action == capability.MemoryAppend || in.Old != "" {
			next.Trust = least(before.Trust, next.Trust)
		}
		return w.put(ctx, before, next, in.Keep)
	})
}

// checkWrite returns why a write of the entry at path is refused, or nil.
func checkWrite(in capability.MemoryWrite, path string, before stored) error {
	exists, deletes := before.exists(), in.Action == capability.MemoryDelete
	switch {
	case exists && before.Kind == capability.MemoryNote: // a call may write notes
	case exists && before.Kind == capability.MemoryDump && deletes: // a call may delete a dump
	case exists, isReserved(path) && !deletes:
		return capability.ErrMemoryReserved
	}
	switch {
	case exists && in.Action == capability.MemoryCreate:
		return capability.ErrMemoryExists
	case !exists && in.Action != capability.MemoryCreate && in.Action != capability.MemoryPut:
		return capability.ErrNoMemory
	case exists && in.IfVersion != 0 && in.IfVersion != before.Version:
		return capability.ErrMemoryChanged
	}
	return nil
}

// replaced returns content with the only occurrence of the text old replaced by with. If old is
// empty, it returns with.
func replaced(content, old, with string) (string, error) {
	if old == "" {
		return with, nil
	}
	switch strings.Count(content, old) {
	case 0:
		return "", capability.ErrNoMatch
	case 1:
		return strings.Replace(content, old, with, 1), nil
	}
	return "", capability.ErrManyMatches
}

// least returns the lower of two trusts.
func least(a, b capability.MemoryTrust) capability.MemoryTrust {
	if a == capability.TrustPerson && b == capability.TrustPerson {
		return capability.TrustPerson
	}
	return capability.TrustModel
}
