// Package health says whether a worker works: it holds what the start of a worker waits for, runs the checks of a running
// worker, answers probes over HTTP, and explains in one sentence why a server is not usable and what to do.
//
// A sentence has no secret, no text of a server and no data of a tenant. A probe must never cost a server more than one set of
// checks per second. Package worker and the commands import it.
package health
