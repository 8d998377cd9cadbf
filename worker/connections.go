package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/pawl-run/pawl/activities/connection"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// KeyRing configures the keys that open credentials. With the zero value, tools cannot use
// connections.
type KeyRing struct {
	// File is the name of the file of the ring: PAWL_KEYRING_FILE. The worker reads the file again
	// when it changes.
	File string
	// Text is the ring itself: PAWL_KEYRING. It is a secret.
	Text []byte
	// Wrapper decrypts a ring that is encrypted with a key of a KMS. nil means that the ring is not
	// encrypted. The option KeyWrapper sets it too.
	Wrapper broker.KeyWrapper
}

func loadKeyRing() KeyRing {
	return KeyRing{File: os.Getenv("PAWL_KEYRING_FILE"), Text: []byte(os.Getenv("PAWL_KEYRING"))}
}

// Open opens the ring. It returns nil if no ring is configured.
func (k KeyRing) Open() (broker.Sealer, error) { return k.open(nil) }

// open opens the ring. log gets a warning while changes of the file cannot be read.
func (k KeyRing) open(log *slog.Logger) (broker.Sealer, error) {
	switch {
	case k.File != "" && len(k.Text) > 0:
		return nil, errors.New("config: PAWL_KEYRING_FILE and PAWL_KEYRING are both set: one of them is enough")
	case k.File != "":
		ring, err := seal.OpenFile(k.File, k.Wrapper, log)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: correct PAWL_KEYRING_FILE; a new ring (`pawl keyring new FILE`) opens no credential that is stored", err)
		}
		return ring, err
	case len(k.Text) > 0:
		return seal.Parse(k.Text, k.Wrapper)
	}
	return nil, nil
}

// connections has the parts with which tools of a worker use connections. With the zero value,
// tools cannot use connections.
type connections struct {
	sealer  broker.Sealer
	signers broker.Signers
}

func newConnections(c Config, a additions) (n connections, err error) {
	ring := c.KeyRing
	if len(a.wrappers) > 0 {
		ring.Wrapper = a.wrappers[0]
	}
	if len(a.wrappers) > 1 || len(a.wrappers) == 1 && ring.Wrapper == nil {
		return connections{}, errors.New("config: KeyWrapper wants one wrapper of key rings, which is not nil")
	}
	if n.sealer, err = ring.open(c.Log); err != nil || n.sealer == nil {
		return connections{}, err
	}
	if n.signers, err = broker.NewSigners(a.signers...); err != nil {
		return connections{}, fmt.Errorf("signers: %w", err)
	}
	return n, nil
}

// needKeyRing returns an error if a tool declares a capability of connections and the worker has no
// key ring.
func needKeyRing(tools []toolspec.Tool, provided toolspec.Capabilities) error {
	for _, tool := range tools {
		def := tool.Definition()
		for _, name := range def.Capabilities {
			if name != capability.ClientsKey.Name() && name != capability.AuthKey.Name() {
				continue
			}
			if _, err := provided.Only([]toolspec.CapabilityName{name}); err != nil {
				return fmt.Errorf("tool %q uses connections and needs a key ring: set PAWL_KEYRING_FILE (create one with `pawl keyring new FILE`)", def.ID)
			}
		}
	}
	return nil
}

// provided returns the capabilities of connections that tools can declare.
func (n connections) provided() []toolspec.Provided {
	if n.sealer == nil {
		return nil
	}
	return []toolspec.Provided{capability.ClientsKey.Provide(broker.Outside{}), capability.AuthKey.Provide(broker.Outside{})}
}

// drainTime is how long a worker that stops waits for token refreshes that are in progress. It is
// longer than the time limit of a refresh.
const drainTime = 15 * time.Second

// newBroker returns the broker that opens credentials for tools and models, or nil if the worker has no key
// ring. When the worker stops, o waits for token refreshes that are in progress.
func newBroker(o *opened, c Config, n connections, store *postgres.Store, live *fingerprint.Set) connection.Broker {
	if n.sealer == nil {
		return nil
	}
	b := broker.New(c.telemetry.Refreshes(store), n.sealer, broker.Options{Signers: n.signers, Live: live, Observe: c.telemetry.Refresh})
	o.add(func() {
		ctx, cancel := context.WithTimeout(context.Background(), drainTime)
		defer cancel()
		b.Drain(ctx)
	})
	return b
}
