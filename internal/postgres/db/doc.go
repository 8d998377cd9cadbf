// Package db runs the statements of the stores on a pool of connections, and says what went
// wrong without the words of the server. It never knows what a statement is for. The
// packages beside it import it, and programs that read its errors.
package db
