package operations

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/bucket/buckettest"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/worker"
)

func TestMain(m *testing.M) {
	buckettest.SetCredentials()
	devstacktest.Main(m)
}

// TestDatabaseFaults: a check says what is wrong with its own subject, and nothing wrong of the database.
func TestDatabaseFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql    string
		bucket func(*buckettest.Server)
		want   []checked
	}{
		"a policy of a newer release": {
			`WITH newer AS (INSERT INTO policies (digest, source) SELECT encode(sha256(convert_to(s, 'UTF8')), 'hex'), s FROM (VALUES ('{"later":1}')) v (s) RETURNING digest)
			 UPDATE policy_active a SET digest = newer.digest, activated_at = now(), activated_by = 'user:ann' FROM newer`, nil,
			[]checked{{"authz", false, "this release cannot read the active policy: use the release that applied it"}},
		},
		"a bucket that does not answer": {
			`SELECT`, (*buckettest.Server).Hang, []checked{
				{"notices", true, "no notifier had a notice to send in the last week"},
				{"bucket", false, "the bucket of outputs: put: no answer in time"},
			},
		},
		"objects that cannot be read": {
			`ALTER TABLE output_objects RENAME TO gone`, func(*buckettest.Server) {},
			[]checked{{"bucket", false, "the database is not usable (postgres: buckets of outputs: 42P01)"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := worker.Config{DatabaseURL: postgrestest.Database(t)}
			conn, err := pgx.Connect(t.Context(), config.DatabaseURL)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			if _, err := conn.Exec(t.Context(), c.sql); err != nil {
				t.Fatal(err)
			}
			if c.bucket != nil {
				server := buckettest.New(t)
				c.bucket(server)
				config.OutputBucket = server.Address()
			}
			d := &diagnosis{}
			d.database(t.Context(), config)
			for _, want := range c.want {
				if !slices.Contains(d.Checks, want) {
					t.Errorf("%+v, want %+v", d.Checks, want)
				}
			}
		})
	}
}
