//go:build !faults

package worker

import "github.com/pawl-run/pawl/activities"

// faults lets tests cause failures: see faults_on.go. A released program has no such failures.
type faults struct{}

func (faults) records(r activities.Records) activities.Records { return r }
