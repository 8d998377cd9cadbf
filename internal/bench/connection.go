package bench

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// connect adds the connection of the case, with a key ring of its own.
func (s *stand) connect(ctx context.Context, store *postgres.Store) error {
	ring, err := seal.New()
	if err != nil {
		return err
	}
	text, err := ring.Encode(nil)
	if err != nil {
		return err
	}
	s.keyRing, s.connectionID = worker.KeyRing{Text: text}, "bench-"+rand.Text()
	p := broker.Provider{ID: "bench", Kind: broker.Bearer, Hosts: []string{"api.example.com"}}
	credential := broker.NewCredential(map[string]broker.Secret{broker.FieldToken: capability.NewSecret([]byte(rand.Text()))})
	defer credential.Destroy()
	sealed, err := broker.New(store, ring, broker.Options{}).Seal(credential, broker.At(tenant, s.connectionID, p, p.Hosts, 1), time.Time{})
	if err != nil {
		return err
	}
	if err := store.AddConnection(ctx, connections.AddRow{Provider: p, Hosts: p.Hosts, Sealed: sealed, SignedIn: true}, "pawl bench"); err != nil {
		return err
	}
	_, err = store.GrantConnection(ctx, tenant, s.connectionID, actor, nil, 0, "pawl bench")
	return err
}

// connected is the tool of the case; only a worker with a key ring can serve it.
func connected() toolspec.Tool {
	def := reads(connectedTool)
	def.RequiresConnection, def.Capabilities = true, []toolspec.CapabilityName{capability.ClientsKey.Name()}
	return toolspec.Define(def, overConnection)
}

// overConnection makes the client with which a tool would send a request to the service, and
// sends no request: it measures the cost of the broker, without the network.
func overConnection(ctx context.Context, in echoIn, call toolspec.Call) (echoOut, error) {
	if _, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID); err != nil {
		return echoOut{}, err
	}
	return echo(ctx, in, call)
}

// byConnection invokes the tool over the connection.
func byConnection(ctx context.Context, s *stand, id string) error {
	inv := invocation(connectedTool, id, "hello")
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = s.connectionID, []string{s.connectionID}
	return invokeAndCheck(ctx, s.pawl, inv, "hello", "")
}
