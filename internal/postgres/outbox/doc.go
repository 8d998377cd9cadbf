// Package outbox delivers the messages and notices that transactions have written, each at least
// once. It must not know the transport of a message: a Sender or a Notifier does. Package
// postgres imports it, and programs that send.
package outbox
