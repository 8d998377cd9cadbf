// Package e2etest helps tests to run whole calls against a real Temporal server and a real Postgres. The packages below it
// have the tests, by subject. A test compares what a caller sends, what the caller gets back, and what stays in histories, rows and logs.
//
// Each test has its own [World], which has a namespace and a database. So its workers get no tasks of other tests. A worker is
// worker.Run in the process of the test. A worker that must be killed runs in a separate process (see [Main]). Tests must never use the inside of a
// workflow or of an activity: they see only what a client, an operator or an approver sees, and they replay histories.
package e2etest
