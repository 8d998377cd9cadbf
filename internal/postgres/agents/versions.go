package agents

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

//go:embed *.sql
var files embed.FS

// ErrTaken means that the version is stored with another content. Versions are not changed.
var ErrTaken = errors.New("the version is stored with another content")

// Store stores agents. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns a Store that uses the database d.
func New(d *db.DB) *Store { return &Store{db: d.With(files)} }

// Applied is what ApplyAgent has done.
type Applied struct {
	Digest string
	// Stored says that the version is new.
	Stored bool
	// Active says that the version is active now. It is false if the agent is retired.
	Active bool
	// Changed says that another version was active, or no version.
	Changed bool
	// Before is the version that was active before, or last if the agent is retired; empty if there was none.
	Before string
}

type applyRow struct {
	Outcome, Before string
	Stored          bool
}

// ApplyAgent stores a document and makes it the active version of its agent. by is the person who does it. A retired agent stays
// retired. The error is ErrTaken if the version is stored with another content; nothing is changed then.
func (s *Store) ApplyAgent(ctx context.Context, d agent.Document, by string) (Applied, error) {
	if d.Name == "" || d.Version == "" {
		return Applied{}, errors.New("the agent has no name or no version")
	}
	text, err := d.Canonical()
	if err != nil {
		return Applied{}, err
	}
	digest, err := d.Digest()
	if err != nil {
		return Applied{}, err
	}
	row, _, err := db.Batched[applyRow](ctx, s.db, "apply agent", db.Query("LockAgent", db.Values{"name": db.Text(d.Name)}),
		db.Query("ApplyAgent", db.Values{
			"name": db.Text(d.Name), "version": db.Text(d.Version), "digest": digest, "document": db.Text(string(text)), "by": db.Text(by),
		}))
	if err != nil {
		return Applied{}, err
	}
	if row.Outcome == "taken" {
		return Applied{}, fmt.Errorf("%w: %s %s; give the new content another version", ErrTaken, d.Name, d.Version)
	}
	return Applied{Digest: digest, Stored: row.Stored, Active: row.Outcome != "retired", Changed: row.Outcome == "active", Before: row.Before}, nil
}

// Activated is what ActivateAgent has done.
type Activated struct {
	Digest string
	// Changed says that another version was active, or that the agent was retired.
	Changed bool
	Before  string
}

// ActivateAgent makes a stored version the active version. by is the person who does it. It ends the retirement of an agent. The error is
// db.ErrNotFound if the version is not stored.
func (s *Store) ActivateAgent(ctx context.Context, name, version, by string) (Activated, error) {
	return changeLocked[Activated](ctx, s, "activate agent", name,
		db.Query("ActivateAgent", db.Values{"name": db.Text(name), "version": db.Text(version), "by": db.Text(by)}))
}

// Retired is what RetireAgent has done.
type Retired struct {
	// Version is the version that was active.
	Version string
	// Changed says that the agent was not retired before.
	Changed bool
}

// RetireAgent stops an agent: no run of it starts until ActivateAgent. by is the person who does it. Runs that have started go on. The
// error is db.ErrNotFound if there is no such agent.
func (s *Store) RetireAgent(ctx context.Context, name, by string) (Retired, error) {
	return changeLocked[Retired](ctx, s, "retire agent", name, db.Query("RetireAgent", db.Values{"name": db.Text(name), "by": db.Text(by)}))
}

// changeLocked runs the statement of step under the lock of an agent. The error is db.ErrNotFound if the statement returns no row.
func changeLocked[T any](ctx context.Context, s *Store, op, name string, step db.Step) (row T, err error) {
	row, found, err := db.Batched[T](ctx, s.db, op, db.Query("LockAgent", db.Values{"name": db.Text(name)}), step)
	if err == nil && !found {
		err = db.ErrNotFound
	}
	return row, err
}

type documentRow struct {
	Document, Digest string
	Retired          bool
}

// Agent returns a version of an agent and its digest, also if the agent is retired: runs that have started go on with
// their version. An empty version is the active one. The error is db.ErrNotFound if there is no such version.
func (s *Store) Agent(ctx context.Context, name, version string) (agent.Document, string, error) {
	d, row, err := s.document(ctx, name, version)
	return d, row.Digest, err
}

// AgentToStart returns the version for a run that starts. The error is db.ErrNotFound also if the agent is retired.
func (s *Store) AgentToStart(ctx context.Context, name, version string) (agent.Document, error) {
	d, row, err := s.document(ctx, name, version)
	if err == nil && row.Retired {
		return agent.Document{}, db.ErrNotFound
	}
	return d, err
}

func (s *Store) document(ctx context.Context, name, version string) (d agent.Document, row documentRow, err error) {
	const op = "agent"
	row, found, err := db.First[documentRow](ctx, s.db, op, db.Query("AgentDocument", db.Values{"name": db.Text(name), "version": db.Text(version)}))
	switch {
	case err != nil:
	case !found:
		err = db.ErrNotFound
	default:
		d, err = db.DecodedStrict[agent.Document](op, json.RawMessage(row.Document))
	}
	return d, row, err
}

// ActiveVersion is an agent and its active version.
type ActiveVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Retired bool   `json:"retired"`
	// By is the person who activated the version or retired the agent.
	By string `json:"by"`
	// At is the time of this.
	At time.Time `json:"at"`
}

// Agents returns the agents by name, at most 500.
func (s *Store) Agents(ctx context.Context) ([]ActiveVersion, error) {
	return db.All[ActiveVersion](ctx, s.db, "agents", db.Query("Agents", db.Values{"max": db.MaxList}))
}

// Version is a stored version of an agent.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	// Active says that runs start with it.
	Active bool `json:"active"`
	// By is the person who stored the version first.
	By string `json:"by"`
	// At is the time of this.
	At time.Time `json:"at"`
}

// AgentVersions returns the versions of an agent, newest first, at most 500. There are none if there is no such agent.
func (s *Store) AgentVersions(ctx context.Context, name string) ([]Version, error) {
	return db.All[Version](ctx, s.db, "agent versions", db.Query("AgentVersions", db.Values{"name": db.Text(name), "max": db.MaxList}))
}
