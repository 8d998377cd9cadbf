package devstack

import (
	"errors"
	"math/rand/v2"
	"net"
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

// freePort returns a loopback TCP port that is free when it checks. The caller must expect that another program takes it.
func freePort() (int, error) {
	for range portAttempts {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		listener, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			continue
		}
		return port, nil
	}
	return 0, errors.New("no free port on 127.0.0.1 between 20000 and 32000: stop some servers and start again")
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// saysPortTaken reports whether a log contains the message of Postgres or Temporal about a used
// port.
func saysPortTaken(log string) bool {
	return strings.Contains(strings.ToLower(log), "address already in use")
}
