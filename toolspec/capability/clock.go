package capability

import (
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// ClockKey is the typed name of Clock.
var ClockKey = toolspec.NewCapability[Clock]("clock")

// Clock tells the time.
type Clock interface {
	// Now is the present instant.
	Now() time.Time
	// Zone finds a time zone by its IANA name, such as Europe/Berlin or UTC.
	// It knows no "Local": what a tool answers must not depend on its host.
	// A name that it does not know is ErrNoZone.
	Zone(name string) (*time.Location, error)
}
