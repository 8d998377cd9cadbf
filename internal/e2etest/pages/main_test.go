// Package pages runs the shell blocks of the documentation against real servers, in the order of each page.
package pages

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The tests mostly wait, so four run at the same time. A flag on the command line overrides this.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
