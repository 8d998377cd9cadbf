// Package e2etest runs whole calls against a real Temporal server and a real Postgres: what a caller sends, what comes back, and what
// is left in history, rows and logs.
//
// Each test has a world of its own, that is a namespace and a database, and so its workers take nobody else's tasks. The worker is
// worker.Run in this process, or a process of its own where it is to die. It must never reach into a workflow or an activity: it sees
// what a client, an operator or an approver sees, and replays histories. Nobody imports it.
package e2etest
