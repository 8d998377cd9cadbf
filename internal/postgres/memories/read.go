package memories

import (
	"context"
	"strings"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// reasoningBytes bounds the content of one page of reasoning.
const reasoningBytes = 32 << 10

// MemoryEntry implements capability.Memory.
func (s *Store) MemoryEntry(ctx context.Context, by capability.MemoryCaller, path string) (capability.MemoryEntry, error) {
	path, err := clean(path)
	if err != nil {
		return capability.MemoryEntry{}, err
	}
	row, found, err := db.First[entryRow](ctx, s.db, "memory entry", db.Query("Entry", scope(by).And("path", path)))
	if err == nil && (!found || row.Expired || capability.MemoryKind(row.Kind) == capability.MemoryReasoning) {
		err = capability.ErrNoMemory
	}
	if err != nil {
		return capability.MemoryEntry{}, err
	}
	return row.entry(), nil
}

// ListMemory implements capability.Memory.
func (s *Store) ListMemory(ctx context.Context, by capability.MemoryCaller, under, after string) (entries []capability.MemoryEntry, more bool, err error) {
	if under, err = cleanDir(under); err != nil {
		return nil, false, err
	}
	rows, err := db.All[entryRow](ctx, s.db, "list memory", db.Query("List", scope(by).With(db.Values{
		"under": under, "after": db.Text(after), "most": capability.MaxMemoryList + 1,
	})))
	entries, more = page(rows, capability.MaxMemoryList)
	return entries, more, err
}

// page returns the entries of up to limit rows, and whether there are other rows.
func page(rows []entryRow, limit int) (entries []capability.MemoryEntry, more bool) {
	for _, row := range rows[:min(len(rows), limit)] {
		entries = append(entries, row.entry())
	}
	return entries, len(rows) > limit
}

// SearchMemory implements capability.Memory.
func (s *Store) SearchMemory(ctx context.Context, by capability.MemoryCaller, query string) ([]capability.MemoryHit, error) {
	return s.search(ctx, "Search", scope(by).And("most", capability.MaxMemoryHits), query)
}

func (s *Store) search(ctx context.Context, statement string, of db.Values, query string) ([]capability.MemoryHit, error) {
	query = strings.ToLower(strings.TrimSpace(db.Text(query)))
	if query == "" {
		return nil, nil
	}
	rows, err := db.All[hitRow](ctx, s.db, "search memory", db.Query(statement, of.And("text", query)))
	var hits []capability.MemoryHit
	for _, row := range rows {
		hits = append(hits, capability.MemoryHit{MemoryEntry: row.entry(), Excerpt: row.Excerpt})
	}
	return hits, err
}

// Reasoning implements capability.Memory. It cuts a page at reasoningBytes, but returns at least one entry.
func (s *Store) Reasoning(ctx context.Context, by capability.MemoryCaller, after int64, limit int) (entries []capability.MemoryEntry, more bool, err error) {
	limit = max(1, min(limit, capability.MaxMemoryList))
	rows, err := db.All[entryRow](ctx, s.db, "reasoning", db.Query("Reasoning", scope(by).With(db.Values{
		"run_id": db.Text(by.RunID), "after": after, "most": limit + 1,
	})))
	entries, more = page(rows, limit)
	total := 0
	for i, e := range entries {
		if total += e.Bytes; total > reasoningBytes && i > 0 {
			return entries[:i], true, err
		}
	}
	return entries, more, err
}
