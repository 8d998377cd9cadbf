package tcpproxy_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
)

// database returns a proxy for a database with a table, the URL through the proxy, and the direct
// URL.
func database(t *testing.T) (p *tcpproxy.Proxy, through, direct string) {
	t.Helper()
	direct = devstacktest.Postgres(t)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = tcpproxy.Start(u.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	u.Host = p.Address()
	conn := connect(t, direct)
	if _, err := conn.Exec(t.Context(), `CREATE TABLE notes (id int PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	return p, u.String(), direct
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func rows(t *testing.T, url string) (n int) {
	t.Helper()
	if err := connect(t, url).QueryRow(t.Context(), `SELECT count(*) FROM notes`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLoseAnswers: the statement is committed and the client gets no answer, for each way of sending it. Other statements are not affected.
func TestLoseAnswers(t *testing.T) {
	t.Parallel()
	const insert = `INSERT INTO notes VALUES ($1)`
	for name, send := range map[string]func(ctx context.Context, c *pgx.Conn) error{
		"extended": func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, insert, 1)
			return err
		},
		"simple": func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, insert, pgx.QueryExecModeSimpleProtocol, 1)
			return err
		},
		"in a batch": func(ctx context.Context, c *pgx.Conn) error {
			var batch pgx.Batch
			batch.Queue(`SELECT 1`)
			batch.Queue(insert, 1)
			return c.SendBatch(ctx, &batch).Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, through, direct := database(t)
			loss := p.LoseAnswers(1, "INSERT INTO notes")
			conn := connect(t, through)
			var one int
			if err := conn.QueryRow(t.Context(), `SELECT 1`).Scan(&one); err != nil {
				t.Fatalf("another statement: %v", err)
			}
			if err := send(t.Context(), conn); err == nil {
				t.Fatal("the client got the answer")
			}
			if n := rows(t, direct); n != 1 || loss.Lost() != 1 {
				t.Errorf("%d rows and %d lost answers, want one of each", n, loss.Lost())
			}
			again := connect(t, through)
			if _, err := again.Exec(t.Context(), insert, 2); err != nil {
				t.Errorf("the statement after the lost answer: %v", err)
			}
			if loss.Lost() != 1 || loss.Seen() != 2 {
				t.Errorf("lost %d of %d, want 1 of 2", loss.Lost(), loss.Seen())
			}
		})
	}
}

// TestALostRefusalIsNoLostAnswer: a statement that failed has committed nothing, so its lost answer
// does not count.
func TestALostRefusalIsNoLostAnswer(t *testing.T) {
	t.Parallel()
	p, through, direct := database(t)
	loss := p.LoseAnswers(1, "INSERT INTO notes")
	if _, err := connect(t, through).Exec(t.Context(), `INSERT INTO notes VALUES (1), (1)`); err == nil {
		t.Fatal("the client got the answer")
	}
	if n := rows(t, direct); n != 0 || loss.Lost() != 0 || loss.Seen() != 1 {
		t.Errorf("%d rows, lost %d of %d; want 0 rows, lost 0 of 1", n, loss.Lost(), loss.Seen())
	}
}
