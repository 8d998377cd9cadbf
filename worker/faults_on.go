//go:build faults

package worker

import "github.com/pawl-run/pawl/activities"

// faults lets tests cause failures. It is compiled only with the build tag faults.
type faults struct {
	wrap func(activities.Records) activities.Records
}

// Faults wraps the record of the worker. With it a test can stop the worker immediately before or
// after a write.
func Faults(wrap func(activities.Records) activities.Records) Option {
	return func(a *additions) { a.wrap = wrap }
}

func (f faults) records(r activities.Records) activities.Records {
	if f.wrap == nil {
		return r
	}
	return f.wrap(r)
}
