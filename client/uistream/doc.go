// Package uistream writes the events of a run as a UI message stream of the AI SDK: version 6 of the
// npm package "ai" and the npm package "assistant-stream" read it. docs/streams.md lists which event
// becomes which part.
//
// A Mapper turns events into parts. It closes each part that it opens: a result comes before the
// finish, and a stream that ends early has an end for each call. No other package may write this
// format. The package must never do I/O of its own. Anybody may import it.
package uistream
