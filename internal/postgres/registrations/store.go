package registrations

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

//go:embed *.sql
var files embed.FS

const (
	// MaxOfTenant bounds the registrations of a tenant that are in force.
	MaxOfTenant = 100
	// MaxVersions bounds the versions of a tenant that are in force or ended within the last hour. Every worker loads these versions, so
	// MaxVersions, MaxServers and MaxBytes limit its memory. They also limit how often a tenant may change its registrations.
	MaxVersions = 200
	// MaxServers bounds how many of these versions are of MCP servers.
	MaxServers = 20
	// MaxBytes bounds the documents of these versions together, in bytes.
	MaxBytes = 32 << 20
	// lately is how long a version that has ended still counts for MaxVersions, MaxServers and MaxBytes.
	lately = time.Hour
	// maxEnded bounds the ended versions of a tenant that RegistrationsInUse compares with the open calls.
	maxEnded = 500
	// margin is how long after the end of a version a worker may still admit calls with it. The worker learns of
	// the end within a second, or at its next poll if the notification is lost.
	margin = 2 * time.Minute
)

// Kind says what a registration is.
type Kind = client.ToolKind

// The kinds of registrations.
const (
	HTTP = client.HTTPTools
	MCP  = client.MCPServer
)

// Store stores registrations. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns a Store that uses the database d.
func New(d *db.DB) *Store { return &Store{db: d.With(files)} }

// Registration is a document that was checked.
type Registration struct {
	TenantID, Name string
	Kind           Kind
	Digest         string
	// Address is the URL of an MCP server.
	Address string
	// Tools are tool ids, or a prefix with *.
	Tools    []string
	Document string
	By       string
}

// Version is a version of a registration.
type Version = client.ToolVersion

// InUse is a version that workers need.
type InUse struct {
	ID             int64
	TenantID, Name string
	Version        int
	Kind           Kind
	// InForce is false for an ended version. Only calls that were admitted with this version need it.
	InForce bool
	// Bytes is the length of the document.
	Bytes int
}

type registerRow struct {
	Outcome, TakenBy string
	Version          int
	Announced        int64
}

type unregisterRow struct {
	Version   int
	Announced string
}

type documentRow struct {
	Kind     Kind
	Document string
}

type textRow struct {
	ID       int64
	Document string
}

// RegisterTools makes the document the version in force. changed is false if it is in force already. An
// error that wraps client.ErrToolsRefused says why the document is refused, without names of other
// tenants.
func (s *Store) RegisterTools(ctx context.Context, r Registration) (version int, changed bool, err error) {
	row, _, err := db.Batched[registerRow](ctx, s.db, "register tools",
		db.Query("LockRegistrations", db.Values{"tenant_id": db.Text(r.TenantID)}),
		db.Query("RegisterTools", db.Values{
			"tenant_id": db.Text(r.TenantID), "name": db.Text(r.Name), "kind": db.Text(r.Kind), "digest": db.Text(r.Digest), "address": db.Text(r.Address),
			"tools": r.Tools, "document": db.Text(r.Document), "by": db.Text(r.By), "most": MaxOfTenant,
			"lately": lately, "most_versions": MaxVersions, "most_servers": MaxServers, "most_bytes": MaxBytes,
		}))
	if err != nil {
		return 0, false, err
	}
	switch row.Outcome {
	case "moved":
		return 0, false, fmt.Errorf("%w: %s was registered with another kind or another URL, and a name keeps these for ever; choose another name", client.ErrToolsRefused, r.Name)
	case "taken":
		return 0, false, fmt.Errorf("%w: the registration %s has a tool with one of these ids already", client.ErrToolsRefused, row.TakenBy)
	case "full":
		return 0, false, fmt.Errorf("%w: the tenant has %d registrations; remove one first", client.ErrToolsRefused, MaxOfTenant)
	case "versions":
		return 0, false, fmt.Errorf("%w: the tenant has %d versions in force or ended within the last hour; try again in an hour", client.ErrToolsRefused, MaxVersions)
	case "servers":
		return 0, false, fmt.Errorf("%w: the tenant has %d versions of MCP servers in force or ended within the last hour; remove one, and try again in an hour", client.ErrToolsRefused, MaxServers)
	case "bytes":
		return 0, false, fmt.Errorf("%w: with this document, those of the tenant that are in force or ended within the last hour have more than %d MiB; remove one, and try again in an hour",
			client.ErrToolsRefused, MaxBytes>>20)
	}
	return row.Version, row.Outcome == "registered", nil
}

// UnregisterTools ends the version in force. found is false if there is none.
func (s *Store) UnregisterTools(ctx context.Context, tenantID, name, by string) (version int, found bool, err error) {
	// Without the lock, the statement would not see a version that another transaction makes at this moment.
	row, found, err := db.Batched[unregisterRow](ctx, s.db, "unregister tools",
		db.Query("LockRegistrations", db.Values{"tenant_id": db.Text(tenantID)}),
		db.Query("UnregisterTools", db.Values{"tenant_id": db.Text(tenantID), "name": db.Text(name), "by": db.Text(by)}))
	return row.Version, found, err
}

// ToolRegistrations returns the versions in force of a tenant, by name, or the versions of a name, newest
// first; at most 500.
func (s *Store) ToolRegistrations(ctx context.Context, tenantID, name string) ([]Version, error) {
	return db.All[Version](ctx, s.db, "tool registrations", db.Query("ToolRegistrations", db.Values{
		"tenant_id": db.Text(tenantID), "name": db.Text(name), "max": db.MaxList,
	}))
}

// ToolDocument returns the document of a version. The error is db.ErrNotFound if the tenant has no such version.
func (s *Store) ToolDocument(ctx context.Context, tenantID, name string, version int) (Kind, string, error) {
	row, found, err := db.First[documentRow](ctx, s.db, "tool document", db.Query("ToolDocument", db.Values{
		"tenant_id": db.Text(tenantID), "name": db.Text(name), "version": version,
	}))
	if err == nil && !found {
		err = db.ErrNotFound
	}
	return row.Kind, row.Document, err
}

// RegistrationsInUse returns the versions that workers need, of all tenants, ordered by tenant. Of a
// tenant, the versions in force come first, and then the ended versions, the last ended first.
func (s *Store) RegistrationsInUse(ctx context.Context) ([]InUse, error) {
	return db.All[InUse](ctx, s.db, "registrations in use", db.Query("RegistrationsInUse", db.Values{"margin": margin, "most": maxEnded}))
}

// RegistrationDocuments returns documents by the ids of their versions.
func (s *Store) RegistrationDocuments(ctx context.Context, ids []int64) (map[int64]string, error) {
	rows, err := db.All[textRow](ctx, s.db, "registration documents", db.Query("RegistrationDocuments", db.Values{"ids": ids}))
	if err != nil {
		return nil, err
	}
	documents := make(map[int64]string, len(rows))
	for _, row := range rows {
		documents[row.ID] = row.Document
	}
	return documents, nil
}

// AnnounceTools makes every worker read the registrations.
func (s *Store) AnnounceTools(ctx context.Context) error {
	_, err := s.db.Exec(ctx, "announce tools", db.Query("AnnounceTools", db.Values{}))
	return err
}
