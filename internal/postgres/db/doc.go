// Package db runs the statements of the stores on one pool of connections. Its errors name the
// operation and the state of the server, and never quote the server's message. It must not know
// the purpose of a statement. The packages beside it import it, and programs that read its
// errors.
package db
