// Package traceparent writes the trace that a context belongs to into the header of a request, as the W3C describes it.
//
// It reads no header, and sends nothing but the ids of the trace and of the span. It needs no SDK: without one, no context has a
// trace. All packages that send requests of tools may import it.
package traceparent
