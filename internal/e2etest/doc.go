// Package e2etest is the ground of tests that run whole calls against a real Temporal server and a real Postgres. The packages below it
// hold the tests, by subject: what a caller sends, what comes back, and what is left in history, rows and logs.
//
// Each test has a [World] of its own, that is a namespace and a database, and so its workers take nobody else's tasks. A worker is
// worker.Run in the process of the test, or a process of its own where it is to die (see [Main]). Tests must never reach into a workflow
// or an activity: they see what a client, an operator or an approver sees, and replay histories.
package e2etest
