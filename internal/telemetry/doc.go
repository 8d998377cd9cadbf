// Package telemetry makes the metrics and traces of a worker with OpenTelemetry, serves the metrics in the format of
// Prometheus, and adds the ids of a call to the lines of a log.
//
// It observes at few places: every activity that is bound to an Observer, the broker and its store, and every round trip to
// the database. Nothing that it measures changes what a call does, and a fault of an exporter is never a fault of a call.
//
// No label and no span has an argument, an output, a text of an error or the id of a person. No label has a tenant; a span has it
// in the id of the workflow. The label tool has at most maxTools values and two more. Package worker is the only importer, and only this package imports the SDK of OpenTelemetry.
package telemetry
