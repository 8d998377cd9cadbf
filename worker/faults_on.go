//go:build faults

package worker

import "github.com/pawl-run/pawl/activities"

// faults is where tests break things. It is compiled with the build tag faults
// only.
type faults struct {
	wrap func(activities.Records) activities.Records
}

// Faults lets a test stand between the steps of a call and its record, to die on
// either side of what is written.
func Faults(wrap func(activities.Records) activities.Records) Option {
	return func(a *additions) { a.wrap = wrap }
}

func (f faults) records(r activities.Records) activities.Records {
	if f.wrap == nil {
		return r
	}
	return f.wrap(r)
}
