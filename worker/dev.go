package worker

import (
	"os"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstate"
)

// findDev fills in the servers and the key ring of a `pawl dev` that runs for the working directory.
// If PAWL_DATABASE_URL or TEMPORAL_ADDRESS names another server, nothing of the `pawl dev` is used: a
// worker with one server of each would treat the calls of one as lost by the other. The general
// configuration (DATABASE_URL, a Temporal profile) is for other programs too, and does not count.
func (c Config) findDev() (Config, error) {
	database, address := os.Getenv("PAWL_DATABASE_URL"), os.Getenv("TEMPORAL_ADDRESS")
	if database != "" && address != "" {
		return c, nil
	}
	state, err := devstate.Find()
	if err != nil || state == nil {
		return c, err
	}
	if database != "" && database != state.DatabaseURL || address != "" && address != state.Temporal {
		return c, nil
	}
	c.DatabaseURL, c.dev = state.DatabaseURL, state.Dir
	if c.KeyRing.File == "" && len(c.KeyRing.Text) == 0 {
		c.KeyRing.File = state.KeyRing
	}
	if address == "" {
		// All options are replaced: the certificates and keys of a profile are for another
		// server.
		c.Temporal = client.Options{
			HostPort: state.Temporal, Namespace: state.Namespace,
			DataConverter: c.Temporal.DataConverter, FailureConverter: c.Temporal.FailureConverter,
		}
		if c.TemporalUI == "" {
			c.TemporalUI = state.UI
		}
	}
	return c, nil
}
