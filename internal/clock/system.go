package clock

import (
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// System is the host's clock. Zones come from the host's database; a binary
// that runs where there is none embeds time/tzdata.
type System struct{}

// Now returns the wall clock in UTC, without the monotonic reading.
func (System) Now() time.Time { return time.Now().UTC().Round(0) }

// Zone finds a zone by its IANA name. It returns capability.ErrNoZone for an
// unknown one, for "Local" and for the empty name.
func (System) Zone(name string) (*time.Location, error) {
	// LoadLocation takes these two for the host's zone and for UTC.
	if name == "Local" || name == "" {
		return nil, capability.ErrNoZone
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, capability.ErrNoZone
	}
	return zone, nil
}
