package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"github.com/pawl-run/pawl/internal/devstate"
	"github.com/pawl-run/pawl/internal/health"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// retryEvery is the pause between two tries while a server does not answer.
	retryEvery = 2 * time.Second
	// stepTimeout bounds one try of a step, because a connection may die without an error.
	stepTimeout = 30 * time.Second
	// logAgain is the pause between two lines of the log with the same reason.
	logAgain = 30 * time.Second
)

// withDatabase repeats a step of the start while the database cannot be reached or refuses the connection, because an
// operator may correct that. The step must be safe to repeat. If the database refuses a statement, withDatabase
// returns the error, and the start ends.
func withDatabase(ctx context.Context, c Config, step func(context.Context) error) error {
	w := waited{c: c, part: health.Database, server: "the database", address: databaseAddress(c.DatabaseURL)}
	for {
		err := within(ctx, step)
		var refused *postgres.Error
		switch {
		case errs.IsTransient(err):
		case errors.As(err, &refused) && refused.State == "42501": // insufficient_privilege
			return fmt.Errorf("%s: %w", health.DatabaseFault(err), err)
		default:
			w.end()
			return err
		}
		reason := health.DatabaseFault(err)
		w.log(ctx, reason)
		if db.Pause(ctx, retryEvery); ctx.Err() != nil {
			return fmt.Errorf("stopped while waiting for the database (%s): %w", reason, ctx.Err())
		}
	}
}

// withTemporal repeats a step of the start while Temporal cannot be used. The step must be safe to repeat.
func withTemporal(ctx context.Context, c Config, step func(context.Context) error) error {
	address := cmp.Or(c.Temporal.HostPort, client.DefaultHostPort)
	w := waited{c: c, part: health.Temporal, server: "Temporal", address: address}
	for {
		err := within(ctx, step)
		if err == nil || ctx.Err() == nil && !away(err) {
			w.end()
			return err
		}
		if ctx.Err() == nil {
			reason := errNewNamespace.Error()
			if !errors.Is(err, errNewNamespace) {
				reason = health.TemporalFault(ctx, c.Temporal, err)
			}
			w.log(ctx, reason)
		}
		if db.Pause(ctx, retryEvery); ctx.Err() != nil {
			return fmt.Errorf("stopped while waiting for Temporal at %s: %w", address, ctx.Err())
		}
	}
}

// waited is a server that a step of the start waits for.
type waited struct {
	c                     Config
	part, server, address string
	// reason is the reason that was logged last.
	reason string
	// loggedAt is when this reason was logged last.
	loggedAt time.Time
}

// log shows probes the reason why the worker waits. It also logs the reason, if it is another than before or was
// logged longer than logAgain ago.
func (w *waited) log(ctx context.Context, reason string) {
	if sentence := devstate.Stale(); sentence != "" {
		reason += "; " + sentence
	}
	w.c.board.Wait(w.part, reason)
	if ctx.Err() != nil || reason == w.reason && time.Since(w.loggedAt) < logAgain {
		return
	}
	w.reason, w.loggedAt = reason, time.Now()
	w.c.Log.WarnContext(ctx, "the worker cannot start yet and tries again", "waitsFor", w.server, "address", w.address, "reason", reason,
		"every", retryEvery.String())
}

// end ends the wait.
func (w *waited) end() {
	w.c.board.Wait(w.part, "")
	if w.reason != "" {
		w.c.Log.Info("the worker waits no more", "waitedFor", w.server)
	}
}

// databaseAddress returns the host, the port and the name of a database, and nothing else of its URL. It returns "" if it cannot
// tell them from the password.
func databaseAddress(raw string) string {
	u := health.DatabaseURL(raw)
	if u == nil {
		return ""
	}
	return u.Host + u.Path
}

func within(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return step(ctx)
}

// away reports whether Temporal does not answer, is busy, refuses the credentials or does not know a new
// namespace yet. It returns false if Temporal has refused the request for another reason.
func away(err error) bool {
	if errors.Is(err, errNewNamespace) {
		return true
	}
	switch serviceerror.ToStatus(err).Code() {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded, codes.Unauthenticated:
		return true
	default:
		return false
	}
}
