package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/registrations"
	"github.com/pawl-run/pawl/internal/registered"
	"github.com/pawl-run/pawl/toolspec"
)

// Role is the role in policy whose holders may register and remove tools of their tenant over HTTP. If the policy
// of a tenant gives this role to nobody, nobody may.
const Role = "tool-admin"

// MaxDocument bounds a document, in bytes.
const MaxDocument = registered.MaxDocument

const (
	// maxConns bounds the connections of a Registry.
	maxConns = 2
	// maxBy bounds the name of a person, in characters.
	maxBy = 200
)

type (
	// Kind says what a document is.
	Kind = client.ToolKind
	// Registration is a document to register for a tenant.
	Registration = client.ToolRegistration
	// Registered says what a registration has done.
	Registered = client.ToolsRegistered
	// Version is a version of a registration.
	Version = client.ToolVersion
)

// The kinds of documents.
const (
	HTTP = client.HTTPTools
	MCP  = client.MCPServer
)

// readDocument is registered.Read or registered.ReadNew.
type readDocument func(tenantID string, kind Kind, file string, text []byte) (registered.Document, error)

// Registry registers tools. It is safe for concurrent use.
type Registry struct{ store *postgres.Store }

// Open connects to the database at url, with at most two connections. Close the Registry after use.
func Open(ctx context.Context, url string) (*Registry, error) {
	store, err := postgres.Open(ctx, url, postgres.Options{MaxConns: maxConns, Application: "pawl-registry"})
	if err != nil {
		return nil, fmt.Errorf("client/registry: %w", err)
	}
	return Of(store), nil
}

// Of returns a Registry on a store of a worker or of a command. The owner of the store closes it.
func Of(store *postgres.Store) *Registry { return &Registry{store: store} }

// Close closes the connections. It waits for running statements.
func (r *Registry) Close() { r.store.Close() }

// Register checks a document as a worker does, and makes it the version in force of its name. Calls that
// were admitted with the version before finish with that version. The error wraps client.ErrToolsInvalid or
// client.ErrToolsRefused if its text is for the person who registers.
func (r *Registry) Register(ctx context.Context, reg Registration) (Registered, error) {
	return r.register(ctx, reg, registered.ReadNew)
}

// register reads the document with read, and makes it the version in force of its name.
func (r *Registry) register(ctx context.Context, reg Registration, read readDocument) (Registered, error) {
	if err := check(reg.TenantID, reg.By); err != nil {
		return Registered{}, err
	}
	if reg.File == "" {
		reg.File = "the document"
	}
	d, err := read(reg.TenantID, reg.Kind, reg.File, reg.Document)
	if err != nil {
		return Registered{}, &invalid{err}
	}
	done := Registered{Name: d.Name, Tools: d.Patterns()}
	done.Version, done.Changed, err = r.store.RegisterTools(ctx, registrations.Registration{
		TenantID: reg.TenantID, Name: d.Name, Kind: reg.Kind, Digest: d.Digest, Address: d.Server.URL, Tools: d.Patterns(), Document: string(reg.Document), By: reg.By,
	})
	if err != nil {
		return Registered{}, err
	}
	return done, nil
}

// Unregister removes the tools of a registration: no new call gets them. Calls that were admitted finish,
// unless a kill switch stops them. Unregister returns the version that was in force.
func (r *Registry) Unregister(ctx context.Context, tenantID, name, by string) (version int, err error) {
	if err := check(tenantID, by); err != nil {
		return 0, err
	}
	version, found, err := r.store.UnregisterTools(ctx, tenantID, name, by)
	if err == nil && !found {
		err = client.ErrNotFound
	}
	return version, err
}

// Rollback makes the document of a version the version in force again, with a new number.
func (r *Registry) Rollback(ctx context.Context, tenantID, name string, version int, by string) (Registered, error) {
	kind, text, err := r.store.ToolDocument(ctx, tenantID, name, version)
	if errors.Is(err, postgres.ErrNotFound) {
		err = client.ErrNotFound
	}
	if err != nil {
		return Registered{}, err
	}
	reg := Registration{TenantID: tenantID, Kind: kind, File: fmt.Sprintf("%s, version %d", name, version), Document: []byte(text), By: by}
	return r.register(ctx, reg, registered.Read) // an earlier release may have accepted the document
}

// List returns the registrations of a tenant that are in force, by name; at most 500.
func (r *Registry) List(ctx context.Context, tenantID string) ([]Version, error) {
	return r.store.ToolRegistrations(ctx, tenantID, "")
}

// Versions returns the versions of a registration, newest first; at most 500. The error is client.ErrNotFound if
// there never was one.
func (r *Registry) Versions(ctx context.Context, tenantID, name string) ([]Version, error) {
	if name == "" {
		return nil, client.ErrNotFound
	}
	versions, err := r.store.ToolRegistrations(ctx, tenantID, name)
	if err == nil && len(versions) == 0 {
		err = client.ErrNotFound
	}
	return versions, err
}

// Document returns the document of a version as it was registered.
func (r *Registry) Document(ctx context.Context, tenantID, name string, version int) (string, error) {
	_, text, err := r.store.ToolDocument(ctx, tenantID, name, version)
	if errors.Is(err, postgres.ErrNotFound) {
		err = client.ErrNotFound
	}
	return text, err
}

// MayAdminister reports whether the active policy gives identity the role Role in the tenant.
func (r *Registry) MayAdminister(ctx context.Context, tenantID, identity string) (bool, error) {
	p, err := r.store.CurrentPolicy(ctx)
	return err == nil && slices.Contains(p.Roles(tenantID, identity), Role), err
}

// check returns an error if the tenant or the name of the person who registers is not valid.
func check(tenantID, by string) error {
	if err := (toolspec.Identity{TenantID: tenantID, RunID: "any", ToolCallID: "any"}).Check(); err != nil {
		return &invalid{err}
	}
	if by == "" {
		return &invalid{errors.New("the name of the person who registers is missing")}
	}
	if err := toolspec.CheckVisible("the name of the person who registers", by, maxBy); err != nil {
		return &invalid{err}
	}
	return nil
}

// invalid is an error about what the caller gave.
type invalid struct{ cause error }

// Error returns the text of the cause, which has positions.
func (i *invalid) Error() string { return i.cause.Error() }

// Unwrap returns client.ErrToolsInvalid and the cause.
func (i *invalid) Unwrap() []error { return []error{client.ErrToolsInvalid, i.cause} }
