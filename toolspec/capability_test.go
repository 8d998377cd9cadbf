package toolspec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

type clock interface{ Now() string }

type fixed string

func (f fixed) Now() string { return string(f) }

var (
	clockName = toolspec.NewCapability[clock]("clock")
	filesName = toolspec.NewCapability[fmt.Stringer]("files")
)

func TestCapabilities(t *testing.T) {
	all, err := toolspec.NewCapabilities(filesName.Provide(nil), clockName.Provide(fixed("noon")))
	if err != nil {
		t.Fatal(err)
	}
	if got := all.Names(); !slices.Equal(got, []toolspec.CapabilityName{"clock", "files"}) {
		t.Errorf("provided: %v", got)
	}
	only, err := all.Only([]toolspec.CapabilityName{clockName.Name()})
	if err != nil || !slices.Equal(only.Names(), []toolspec.CapabilityName{"clock"}) {
		t.Fatalf("got %v, %v", only.Names(), err)
	}
	call := toolspec.Call{ToolID: "core__x"}.WithCapabilities(only)
	if got := clockName.From(call).Now(); got != "noon" {
		t.Errorf("the clock says %s", got)
	}
	mustPanic(t, "the tool core__x uses the capability files, which is not in its Capabilities", func() { filesName.From(call) })
	mustPanic(t, "the capability clock, which is not in its Capabilities", func() { clockName.From(toolspec.Call{ToolID: "core__x"}) })
}

// TestCapabilityOfAnotherType: a name that is provided as something else is as
// good as absent.
func TestCapabilityOfAnotherType(t *testing.T) {
	caps, err := toolspec.NewCapabilities(toolspec.NewCapability[int]("clock").Provide(7))
	if err != nil {
		t.Fatal(err)
	}
	mustPanic(t, "the capability clock, which is not in its Capabilities", func() { clockName.From(toolspec.Call{}.WithCapabilities(caps)) })
}

func TestCapabilityErrors(t *testing.T) {
	_, err := toolspec.NewCapabilities(clockName.Provide(fixed("a")), clockName.Provide(fixed("b")))
	sameError(t, err, `capability "clock" is provided twice`)
	some, err := toolspec.NewCapabilities(clockName.Provide(fixed("a")))
	if err != nil {
		t.Fatal(err)
	}
	_, err = some.Only([]toolspec.CapabilityName{"files"})
	sameError(t, err, `no capability "files" is provided; this worker provides [clock]`)
	none, err := toolspec.Capabilities{}.Only(nil)
	if err != nil || len(none.Names()) != 0 {
		t.Errorf("nothing of nothing is %v, %v", none.Names(), err)
	}
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	f()
}
