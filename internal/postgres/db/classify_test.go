package db

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/toolspec/errs"
)

func TestWhatPassesByItself(t *testing.T) {
	for code, passes := range map[string]bool{
		"08006": true, "40001": true, "40P01": true, "53300": true, "53100": true, "57P01": true, "57P03": true, "57014": true, "58030": true,
		"25006": true, "55P03": true, "26000": true,
		"23505": false, "23514": false, "22P02": false, "42P01": false, "42501": false, "XX000": false, "": false, "4": false,
	} {
		err := Failure("op", fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code, Message: "canary", Detail: "canary"}))
		if errs.IsTransient(err) != passes || errs.Reason(err) != "postgres: op: "+code {
			t.Errorf("%s: transient %v, %s", code, errs.IsTransient(err), errs.Reason(err))
		}
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, &net.OpError{Op: "read", Err: errors.New("reset")}, &pgconn.ConnectError{}} {
		if got := Failure("op", err); !errs.IsTransient(got) || errs.Reason(got) != "postgres: op: connection" {
			t.Errorf("%T: %v", err, got)
		}
	}
	if got := Failure("op", errors.New("canary")); errs.IsTransient(got) || got.Error() != "postgres: op: *errors.errorString" {
		t.Error(got)
	}
	if Failure("op", nil) != nil {
		t.Error("no error became one")
	}
	once := Failure("inner", io.EOF)
	if got := Failure("outer", once); got != once {
		t.Errorf("wrapped twice: %v", got)
	}
}
