package clock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/clock"
	"github.com/pawl-run/pawl/toolspec/capability"
)

var _ capability.Clock = clock.System{}

func TestSystemNow(t *testing.T) {
	before := time.Now().Round(0)
	now := clock.System{}.Now()
	if now.Before(before) || now.After(time.Now().Round(0)) {
		t.Errorf("Now() = %v is not between %v and the present", now, before)
	}
	if now.Location() != time.UTC {
		t.Errorf("Now() is in %v, want UTC", now.Location())
	}
}

func TestSystemZone(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Etc/GMT+3"} {
		if zone, err := (clock.System{}).Zone(name); err != nil || zone.String() != name {
			t.Errorf("Zone(%q) = %v, %v", name, zone, err)
		}
	}
	for _, name := range []string{"", "Local", "Mars/Base", "../../etc/passwd", "/etc/localtime", "a\x00b", "CET\n"} {
		if zone, err := (clock.System{}).Zone(name); !errors.Is(err, capability.ErrNoZone) {
			t.Errorf("Zone(%q) = %v, %v, want ErrNoZone", name, zone, err)
		}
	}
}
