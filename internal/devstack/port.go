package devstack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// The ports are below the range of ephemeral ports (32768 and up on Linux, 49152 on macOS). Otherwise a client that dials a stopped server
// again and again could get its port as a local port, and the server could not start again.
const (
	lowestPort   = 20000
	highestPort  = 32000
	portAttempts = 200
)

var errPortTaken = errors.New("another program took the port")

// FreePort returns a loopback TCP port that is free when it checks. The caller must expect that another program takes it.
func FreePort() (int, error) {
	for range portAttempts {
		if port := lowestPort + rand.IntN(highestPort-lowestPort); isFree(port) {
			return port, nil
		}
	}
	return 0, errors.New("no free port on 127.0.0.1 between 20000 and 32000: stop some servers and start again")
}

// port returns a free port other than except. A server that keeps its data gets the port that it had before, if it is free, so that programs that
// wait for the server find it again. The file with the given name has this port.
func (h *home) port(name string, except int) (port int, err error) {
	text, err := os.ReadFile(h.path(name))
	if last, convErr := strconv.Atoi(string(text)); err == nil && convErr == nil && last != except && isFree(last) {
		return last, nil
	}
	for port = except; port == except; {
		if port, err = FreePort(); err != nil {
			return 0, err
		}
	}
	if h.throwaway {
		return port, nil
	}
	if err := os.WriteFile(h.path(name), []byte(strconv.Itoa(port)), 0o600); err != nil {
		return 0, fmt.Errorf("keep the port: %w", err)
	}
	return port, nil
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	return err == nil && listener.Close() == nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// saysPortTaken reports whether a log contains the message of Postgres or Temporal about a used
// port.
func saysPortTaken(log string) bool {
	return strings.Contains(strings.ToLower(log), "address already in use")
}
