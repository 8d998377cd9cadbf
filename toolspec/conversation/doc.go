// Package conversation is a conversation between people, a model and its tools, independent of
// model providers. It is parsed strictly, checked as a whole, and encoded as the messages of any
// format. Earlier calls in it are sent to a model with their results; they never run.
//
// It is pure, like package wire below it. Clients and servers import it; workflows must not.
package conversation
