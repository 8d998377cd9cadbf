package db

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// ErrOtherPooler means that a pooler keeps the notifications of another database away.
var ErrOtherPooler = errors.New("a connection pooler is in front of the database, so notifications do not arrive: use the address of the server itself")

// Outside connects to a database that is not the database of Pawl, to listen for its notifications. Errors name the address by what, such as the name of a
// setting, and do not contain it. The caller closes the connection with Disconnect. The error is that of the driver, or ErrOtherPooler.
func Outside(ctx context.Context, what, url, application string) (*pgx.Conn, error) {
	config, err := parse(what, url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.RuntimeParams["application_name"] = application
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, connectTimeout)
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	pooled, err := behindPooler(ctx, conn.PgConn())
	if err == nil && pooled {
		err = ErrOtherPooler
	}
	if err != nil {
		Disconnect(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// CheckURL returns an error if url is not a valid address of a database. The error begins with what, such as the name of a setting, and does not contain
// the address.
func CheckURL(what, url string) error {
	_, err := parse(what, url)
	return err
}

// Disconnect closes a connection, also if ctx has ended. It takes at most five seconds.
func Disconnect(ctx context.Context, conn *pgx.Conn) { disconnect(ctx, conn) }
