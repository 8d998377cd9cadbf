package health

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// DatabaseURL parses the URL of a database, for a text that people read. It returns nil if raw is not of the form
// postgres://user:password@host/database. A URL with an @ behind the host is not: in postgres://pawl:12/Qk@db/pawl, the
// password is not percent-encoded, and each part of the URL may have some of it.
func DatabaseURL(raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil
	}
	_, rest, _ := strings.Cut(raw, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 && strings.Contains(rest[i:], "@") {
		return nil
	}
	return u
}

// DatabaseFault returns one sentence that says why the database is not usable, and what to do. It has no address.
func DatabaseFault(err error) string {
	var behind *postgres.SchemaBehind
	if errors.As(err, &behind) {
		return behind.Error()
	}
	var e *postgres.Error
	if !errors.As(err, &e) {
		return "the database is not usable (" + errs.Reason(err) + ")"
	}
	if sentence := refusals[e.State]; sentence != "" {
		return fmt.Sprintf(sentence, e.State)
	}
	if sentence := causes[e.Cause]; sentence != "" {
		return sentence
	}
	switch e.State {
	case "42501":
		return fmt.Sprintf("the user of PAWL_DATABASE_URL lacks a privilege that %q needs (42501): grant it, for example with the role pawl_worker, or connect as the owner of the tables", e.Op)
	case "connection", "deadline":
		return "the database does not answer (" + e.State + "): start Postgres, or correct the address in PAWL_DATABASE_URL"
	}
	return "the database is not usable (" + e.LogReason() + ")"
}

// refusals are the sentences for the states with which a server refuses a connection.
var refusals = map[string]string{
	"28000": "the database refuses the user, or a connection without TLS (%s): correct the user or sslmode in PAWL_DATABASE_URL, or pg_hba.conf of the server",
	"28P01": "the database refuses the user or the password (%s): correct them in PAWL_DATABASE_URL",
	"3D000": "the database does not exist (%s): create it, or correct its name in PAWL_DATABASE_URL",
	"53300": "the database has no free connection (%s): raise max_connections of the server, or lower PAWL_DATABASE_CONNECTIONS of the workers",
	"57P03": "the database is starting or stopping (%s): wait, or read the log of the server",
}

// causes are the sentences for connections that were not made.
var causes = map[postgres.Cause]string{
	postgres.CauseRefused:     "no server listens at the address of PAWL_DATABASE_URL: start Postgres there, or correct the address",
	postgres.CauseNoHost:      "the host of PAWL_DATABASE_URL does not exist: correct its name, or the DNS of this machine",
	postgres.CauseNoTLS:       "the database has no TLS, and sslmode in PAWL_DATABASE_URL requires it: turn on ssl at the server, or correct sslmode",
	postgres.CauseUnknownCA:   "the certificate of the database is of an unknown authority: name the file of its authority as sslrootcert in PAWL_DATABASE_URL",
	postgres.CauseHostname:    "the certificate of the database is for another host: use a name of the certificate in PAWL_DATABASE_URL, or give the server another certificate",
	postgres.CauseCertificate: "the certificate of the database is not valid, for example expired: give the server another certificate",
	postgres.CauseTimeout:     "the database does not answer in time: correct the address in PAWL_DATABASE_URL, or a firewall in front of it",
}
