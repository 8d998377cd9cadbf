package devstack

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
)

// Ports come from below the range that kernels lend to outgoing connections (32768 and up on Linux, 49152 on macOS): a client
// that keeps dialling a stopped server could otherwise be given the server's own port, and it could not start again.
const (
	lowestPort   = 20000
	highestPort  = 32000
	portAttempts = 200
)

var errPortTaken = errors.New("another program took the port")

// freePort returns a loopback TCP port that was free a moment ago. Whoever uses it must be ready to find it taken.
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

// saysPortTaken recognises a server's complaint about its port, in the words of Postgres and of Temporal.
func saysPortTaken(log string) bool {
	return strings.Contains(strings.ToLower(log), "address already in use")
}
