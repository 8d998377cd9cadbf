// Package e2etest helps tests to run whole calls against a real Temporal server and a real Postgres. The packages below it
// hold the tests, by subject: what a caller sends, what comes back, and what is left in history, rows and logs.
//
// Each test has a [World] of its own: a namespace and a database. So its workers take no tasks of other tests. A worker is
// worker.Run in the process of the test. A worker that must die is a process of its own (see [Main]). Tests must never reach into a workflow
// or an activity: they see what a client, an operator or an approver sees, and replay histories.
package e2etest
