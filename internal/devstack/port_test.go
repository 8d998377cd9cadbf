package devstack

import (
	"net"
	"testing"
)

// TestPortTaken: a server whose port another program has taken gets another one, and keeps this one.
func TestPortTaken(t *testing.T) {
	h := &home{dir: t.TempDir()}
	port := func(except int) int {
		t.Helper()
		got, err := h.port("port", except)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := port(0)
	if again := port(0); again != first {
		t.Errorf("got %d, then %d", first, again)
	}
	if other := port(first); other == first {
		t.Errorf("got %d, which the other server has", other)
	}
	last := port(0)
	listener, err := net.Listen("tcp", address(last))
	if err != nil {
		t.Fatal(err)
	}
	other := port(0)
	if other == last {
		t.Errorf("got %d, which is taken", other)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if again := port(0); again != other {
		t.Errorf("got %d after %d", again, other)
	}
}
