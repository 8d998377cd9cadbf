// Package outbox delivers the messages, notices and events for triggers that transactions have written, each at least
// once. It must not know the transport of a message: a Sender, a Notifier or a Firer knows it. Package
// postgres and programs that deliver messages import it.
package outbox
