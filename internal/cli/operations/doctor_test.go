package operations

import (
	"os"
	"testing"
)

func TestPIDOf(t *testing.T) {
	t.Parallel()
	for identity, want := range map[string]int{"pawl-worker:17@host": 17, "pawl-worker:x@host": 0, "17@host": 0, "pawl-worker:-1@host": 0} {
		if pid, host, ok := pidOf(identity); ok != (want > 0) || ok && (pid != want || host != "host") {
			t.Errorf("%s: %d at %s, %v", identity, pid, host, ok)
		}
	}
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if gone(os.Getpid(), here) || gone(1<<30, "another-host") || !gone(1<<30, here) {
		t.Error("who is gone is known only of this host")
	}
}
