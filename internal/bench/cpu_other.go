//go:build !unix

package bench

import "time"

// processCPU is not known here; the report then shows 0.
func processCPU() time.Duration { return 0 }
