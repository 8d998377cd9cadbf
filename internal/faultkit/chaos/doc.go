// Package chaos runs a seeded mix of calls on real servers of its own while it
// kills, stops and starts workers and servers, and has the oracles judge what
// became of the calls.
//
// It must never touch a server or a process that it did not start. Only
// internal/devcli and tests import it.
package chaos
