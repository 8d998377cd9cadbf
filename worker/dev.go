package worker

import (
	"os"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstate"
)

// findDev sets the servers and the key ring of a `pawl dev` that runs for the working directory. database is the address that
// loadDatabaseURL returned. If PAWL_DATABASE_URL, PAWL_DATABASE_URL_FILE or TEMPORAL_ADDRESS names another server, findDev uses nothing of the `pawl
// dev`: a worker with the database of one installation and the Temporal server of another would
// treat calls as lost. DATABASE_URL and Temporal profiles do not count, because they are also for
// other programs.
func (c Config) findDev(database string) (Config, error) {
	address := os.Getenv("TEMPORAL_ADDRESS")
	if database != "" && address != "" {
		return c, nil
	}
	state, err := devstate.Find()
	if err != nil || state == nil {
		return c, err
	}
	namesOtherDatabase := database != "" && database != state.DatabaseURL
	namesOtherTemporal := address != "" && address != state.Temporal
	if namesOtherDatabase || namesOtherTemporal {
		return c, nil
	}
	c.DatabaseURL, c.dev = state.DatabaseURL, state.Dir
	if c.KeyRing.File == "" && len(c.KeyRing.Text) == 0 {
		c.KeyRing.File = state.KeyRing
	}
	if address == "" {
		// All options are replaced, because the certificates and keys of a profile are for another
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
