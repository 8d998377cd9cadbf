// Package tcpproxy stands between a program and a server on loopback and breaks the connection between them: it delays, cuts, refuses,
// falls silent, or swallows an answer whose request was carried out. Tests turn the faults on and off while it runs.
//
// It knows enough of Postgres's protocol to lose the answer of one statement after its commit, and no more. Only tests import it; it must
// never listen on anything but loopback.
package tcpproxy
