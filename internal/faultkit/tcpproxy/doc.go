// Package tcpproxy is a TCP proxy on loopback that breaks the connection between a program and a server: it delays, cuts, refuses, forwards
// nothing, or loses the answer to a request that the server has carried out. Tests turn the faults on and off while it runs.
//
// It knows only the part of the Postgres protocol that it needs to lose the answer to one statement after its commit. Only tests import it.
// It must listen on loopback only.
package tcpproxy
