package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/toolspec/errs"
)

// ErrNotFound means that a row does not exist or belongs to another tenant. The error does not
// distinguish the two.
var ErrNotFound = errors.New("not found")

// Error is a database error without the server's text: its message and its detail can quote
// values.
type Error struct {
	// Op is the operation, such as settle.
	Op string
	// State is the SQLSTATE if the server answered, or else a word such as connection or
	// deadline.
	State string
	// Cause says why no connection was made, or is "".
	Cause Cause
	// Constraint is the constraint that the statement violates, or "".
	Constraint string
	// context is context.Canceled or context.DeadlineExceeded if that is the cause, or else nil.
	context error
}

// refusals explains the states with which a server refuses a connection.
var refusals = map[string]string{
	"28000": "the server refuses this user",
	"28P01": "wrong user or password",
	"3D000": "there is no such database",
}

// Error names the operation and the state, and explains the state of a refused connection.
func (e *Error) Error() string {
	text := "postgres: " + e.Op + ": " + e.State
	if why := cmp.Or(refusals[e.State], string(e.Cause)); why != "" {
		text += " (" + why + ")"
	}
	return text
}

// LogReason returns the text of Error, which is safe for logs.
func (e *Error) LogReason() string { return e.Error() }

// Unwrap returns the error of the context if that is the cause. It does not return the driver's
// error.
func (e *Error) Unwrap() error { return e.context }

// Failure turns an error of the driver into an Error. It marks the error as transient if another
// try may succeed. If err already wraps an Error, Failure returns err unchanged.
func Failure(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op}
	state, transient := classify(err)
	e.State = state
	if state == "connection" || state == "deadline" {
		e.Cause = causeOf(err)
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		e.Constraint = server.ConstraintName
	}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			e.context = cause
		}
	}
	if transient {
		return errs.Transient(e)
	}
	return e
}

// classify returns the State of an Error for err (the SQLSTATE, or a word such as connection), and whether another try may succeed.
func classify(err error) (state string, transient bool) {
	var server *pgconn.PgError
	var connect *pgconn.ConnectError
	var network net.Error
	isServer := errors.As(err, &server)
	switch {
	// An error while connecting is not the fault of the call, even if it is a wrong password.
	// The call waits until the cause is fixed.
	case errors.As(err, &connect) && isServer:
		return server.Code, true
	case errors.As(err, &connect):
		return "connection", true
	case isServer:
		return server.Code, isTransientState(server.Code)
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

// isTransientState reports whether a SQLSTATE describes the condition of the server and not a fault of
// the statement, so that the same statement may succeed later.
func isTransientState(code string) bool {
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
		"25P03", "25P04", // the session was idle or ran too long
		"26000", "0A000", // a pooler or a migration invalidated a cached statement; the driver drops it
		"55P03", // lock_timeout
		"55006": // object in use
		return true
	}
	return false
}
