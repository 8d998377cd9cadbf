// Package db runs the statements of the stores on one pool of connections. Its errors name the
// operation and the SQLSTATE, and never quote the server's message. It must not know the
// purpose of a statement. The stores import it, and so do programs that read its errors.
package db
