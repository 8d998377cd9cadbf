// Package bench measures what a call costs beside a bare workflow that runs one activity: in one process, on one Temporal and one Postgres,
// in interleaved rounds. Every figure of docs/performance.md comes from it.
//
// It may be imported by internal/devcli only. It judges nothing: the reader of the report decides what is good enough.
package bench
