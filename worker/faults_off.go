//go:build !faults

package worker

import "github.com/pawl-run/pawl/activities"

// faults is where tests break things; see faults_on.go. What ships has none.
type faults struct{}

func (faults) records(r activities.Records) activities.Records { return r }
