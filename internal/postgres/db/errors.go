package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/toolspec/errs"
)

// ErrNotFound is the answer for what does not exist and for what belongs to another tenant: the two cannot be told apart.
var ErrNotFound = errors.New("not found")

// Error is what went wrong in the database, without the words of the server: its message and its detail can quote values.
type Error struct {
	// Op is the operation, such as settle.
	Op string
	// State is the SQLSTATE where the server answered, else a word such as connection or deadline.
	State string
	// context is context.Canceled or context.DeadlineExceeded where that is the cause.
	context error
}

// Error names the operation and the state.
func (e *Error) Error() string { return "postgres: " + e.Op + ": " + e.State }

// LogReason is safe for logs, as Error is.
func (e *Error) LogReason() string { return e.Error() }

// Unwrap returns the error of the context, if that is the cause. The driver's own error stays inside.
func (e *Error) Unwrap() error { return e.context }

// Failure turns an error of the driver into an Error, marked transient where another try may not meet it. An error that is one already
// passes as it is.
func Failure(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op}
	state, passes := classify(err)
	e.State = state
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			e.context = cause
		}
	}
	if passes {
		return errs.Transient(e)
	}
	return e
}

// classify names an error and says whether it passes by itself.
func classify(err error) (state string, passes bool) {
	var server *pgconn.PgError
	var connect *pgconn.ConnectError
	var network net.Error
	isServer := errors.As(err, &server)
	switch {
	// Whatever kept us from connecting, a wrong password included, is not the call's fault: it waits until somebody mends it.
	case errors.As(err, &connect) && isServer:
		return server.Code, true
	case errors.As(err, &connect):
		return "connection", true
	case isServer:
		return server.Code, passing(server.Code)
	case errors.Is(err, context.Canceled):
		return "cancelled", true
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline", true
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		pgconn.SafeToRetry(err), strings.HasSuffix(err.Error(), "closed pool"), strings.HasSuffix(err.Error(), "conn closed"):
		return "connection", true
	}
	return fmt.Sprintf("%T", err), false
}

// passing reports whether a SQLSTATE says something about the server's condition rather than about the statement.
func passing(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", // connection
		"40", // rolled back: serialization failure, deadlock
		"53", // no memory, disk or connections left
		"57", // shut down, starting up, cancelled by an operator or a timeout
		"58": // the server's own disk or system
		return true
	}
	switch code {
	case "25006", // read-only: a standby that is about to be promoted
		"25P03", "25P04", // the session idled or ran too long
		"26000", "0A000", // a cached statement that a pooler or a migration has invalidated; the driver forgets it
		"55P03", // lock_timeout
		"55006": // object in use
		return true
	}
	return false
}
