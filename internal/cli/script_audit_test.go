package cli

import (
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-run/pawl/proof"
)

// makeAuditKey makes the key with which the worker signs the audit trail.
func (r *rig) makeAuditKey() {
	dir := r.t.TempDir()
	r.auditKey, r.auditPub = filepath.Join(dir, "audit.pem"), filepath.Join(dir, "audit.pub")
	signer, err := proof.NewSigner()
	if err != nil {
		r.t.Fatal(err)
	}
	private, err := signer.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	public, err := signer.Key().Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	for name, text := range map[string][]byte{r.auditKey: private, r.auditPub: public} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// sql STATEMENT changes rows of the database without Pawl. $1 in the statement is the tenant of the script.
func (r *rig) sql(ts *testscript.TestScript, _ bool, args []string) {
	conn, err := pgx.Connect(r.t.Context(), r.url)
	ts.Check(err)
	defer conn.Close(r.t.Context())
	done, err := conn.Exec(r.t.Context(), args[0], ts.Getenv("PAWL_TENANT"))
	ts.Check(err)
	if done.RowsAffected() == 0 {
		ts.Fatalf("it changed no row")
	}
}
