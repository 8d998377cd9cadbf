package capability

import (
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// ClockKey is the typed name of Clock.
var ClockKey = toolspec.NewCapability[Clock]("clock")

// Clock returns the time and time zones.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// Zone returns the time zone with an IANA name, such as Europe/Berlin or UTC. An unknown name
	// fails with ErrNoZone. "Local" is unknown, because the answer of a tool must not depend on its
	// host.
	Zone(name string) (*time.Location, error)
}
