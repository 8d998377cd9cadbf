package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/output"
)

// maxConns bounds the connections of a Database.
const maxConns = 4

// Database reads the record. It is safe for concurrent use. It has the outputs, the catalogs, the
// records and the runs of client.Options:
//
//	db, err := postgres.Open(ctx, url)
//	c := client.New(temporal, db.Options())
type Database struct{ store *postgres.Store }

var (
	_ client.Outputs  = (*Database)(nil)
	_ client.Catalogs = (*Database)(nil)
	_ client.Records  = (*Database)(nil)
	_ client.Runs     = (*Database)(nil)

	_ client.AgentRecords = (*Database)(nil)
)

// Open connects to the database at url, with at most four connections. The role pawl_client has what a
// Database needs. A role that may only SELECT is enough to read; Watch and Append say what they need. Close the Database after use.
func Open(ctx context.Context, url string) (*Database, error) {
	store, err := postgres.Open(ctx, url, postgres.Options{MaxConns: maxConns, Application: "pawl-client"})
	if err != nil {
		return nil, fmt.Errorf("client/postgres: %w", err)
	}
	return Of(store), nil
}

// Of returns a Database on a store of a worker or of a command. The owner of the store closes it.
func Of(store *postgres.Store) *Database { return &Database{store: store} }

// UseNamespace makes catalogs leave out the workers of other namespaces of Temporal that share the
// database. Call it before the first use of the Database. Without it a catalog has the tools of the
// workers of every namespace.
func (d *Database) UseNamespace(name string) { d.store.UseNamespace(name) }

// UseOutputBucket makes the Database read outputs that a worker has stored in a bucket. address is the
// worker's PAWL_OUTPUT_BUCKET, and "" changes nothing; the environment has the credentials, as package
// worker describes. Without UseOutputBucket, reading such an output returns an error that names the
// bucket. UseOutputBucket sends no request. Call it before the first use of the Database.
func (d *Database) UseOutputBucket(ctx context.Context, address string) error {
	if err := d.store.OpenBucket(ctx, address); err != nil {
		return fmt.Errorf("client/postgres: %w", err)
	}
	return nil
}

// Close closes the connections. It waits for running statements.
func (d *Database) Close() { d.store.Close() }

// Options returns options of a client that reads the Database.
func (d *Database) Options() client.Options {
	return client.Options{Outputs: d, OutputReader: d.store, Catalogs: d, Records: d, Runs: d, AgentRecords: d}
}

// Output implements client.Outputs.
func (d *Database) Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error) {
	value, err := d.store.Output(ctx, tenantID, ref)
	return value, orNotFound(err)
}

// OutputReader reads stored outputs of any size, by chunks. Package toolspec/output/read reads lines,
// values and matches with it.
func (d *Database) OutputReader() output.Reader { return d.store }

// Catalog implements client.Catalogs.
func (d *Database) Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error) {
	return d.store.Catalog(ctx, by)
}

// Calls implements client.Records.
func (d *Database) Calls(ctx context.Context, f client.CallFilter) ([]client.CallSummary, error) {
	return d.store.List(ctx, f)
}

// Call implements client.Records.
func (d *Database) Call(ctx context.Context, tenantID, id string) (client.CallRecord, error) {
	record, err := d.store.Show(ctx, tenantID, id)
	return record, orNotFound(err)
}

// Approvals implements client.Records.
func (d *Database) Approvals(ctx context.Context, f client.ApprovalFilter) ([]client.ApprovalRecord, error) {
	return d.store.Approvals(ctx, f)
}

// AgentRuns implements client.AgentRecords.
func (d *Database) AgentRuns(ctx context.Context, f client.AgentRunFilter) ([]client.AgentRunSummary, error) {
	return d.store.AgentRuns(ctx, f)
}

// AgentRun implements client.AgentRecords.
func (d *Database) AgentRun(ctx context.Context, f client.RoundFilter) (client.AgentRunRecord, error) {
	record, err := d.store.ShowAgentRun(ctx, f)
	return record, orNotFound(err)
}

// Watch implements client.Runs. A role that may only SELECT reads once a second. A role with
// INSERT and UPDATE on the table runs is notified of each event at once.
func (d *Database) Watch(ctx context.Context, tenantID, runID string, after int64) iter.Seq2[toolspec.RunEvent, error] {
	return d.store.Watch(ctx, tenantID, runID, after)
}

// Append implements client.Runs. The role needs INSERT and UPDATE on the tables runs, run_turns and
// run_events.
func (d *Database) Append(ctx context.Context, tenantID, runID string, e client.TurnEvent) error {
	return d.store.Append(ctx, tenantID, runID, e)
}

// Run implements client.Runs.
func (d *Database) Run(ctx context.Context, tenantID, runID string) (client.RunSummary, error) {
	summary, err := d.store.Run(ctx, tenantID, runID)
	return summary, orNotFound(err)
}

// OwnsRun implements the Owners of package client/runhttp. It looks at the events whose sequence numbers are
// greater than the parameter after. lastSeq is the number of the last of these events. identity owns the run if
// there is such an event, identity is the actor or the subject of every call among them, and it owns every text
// among them.
func (d *Database) OwnsRun(ctx context.Context, tenantID, runID, identity string, after int64) (lastSeq int64, owns bool, err error) {
	return d.store.OwnsRun(ctx, tenantID, runID, identity, after)
}

// orNotFound returns client.ErrNotFound for a row that the tenant does not have, and otherwise err.
func orNotFound(err error) error {
	if errors.Is(err, postgres.ErrNotFound) {
		return client.ErrNotFound
	}
	return err
}
