// Package outbox delivers what transactions have left in the database: messages to
// workflows, and notices of what becomes of approval requests. Each is delivered at least
// once. It never knows how a message travels: senders and notifiers do. Package postgres
// imports it, and programs that send.
package outbox
