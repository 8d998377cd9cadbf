// Package chaos runs a mix of calls, drawn from a seed, on its own servers. Meanwhile it kills,
// stops and starts workers and servers. Package oracle then judges the results of the calls.
//
// It must not touch a server or a process that it did not start. Only internal/devcli and tests
// import it.
package chaos
