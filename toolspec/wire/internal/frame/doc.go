// Package frame reads what stands around a model's answer in every published
// format: events of a server-sent stream, lines of JSON, and the members of JSON
// objects, from bytes that may be cut anywhere; and writes what requests have in
// common.
//
// It knows no provider and keeps nothing but the piece that has not ended yet. It
// must never judge arguments: those are passed on as bytes. The codecs below
// toolspec/wire import it, nobody else.
package frame
