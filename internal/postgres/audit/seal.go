package audit

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/audit"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// sealEvery is the interval at which events are sealed.
	sealEvery = 10 * time.Second
	// sealBatch is the maximum number of events that one transaction seals. sealBytes is the approximate maximum size of their details
	// together; a single detail may be larger.
	sealBatch = 1000
	sealBytes = 8 << 20
	// sealTime bounds one transaction.
	sealTime = 30 * time.Second
)

// Sealer seals the events of the record. Any number of sealers may run on one database.
type Sealer struct {
	store         *Store
	signer        *proof.Signer
	retentionDays int
	log           *slog.Logger
}

// noKey is the error of a sealer without a key on a database with signed chains.
type noKey struct{}

func (noKey) Error() string {
	return "other workers have signed the audit trail, and this worker has no key: set PAWL_AUDIT_KEY"
}

// LogReason returns the text of Error, which is safe for logs.
func (n noKey) LogReason() string { return n.Error() }

// NewSealer returns a sealer. signer is nil for a worker without a key: its heads are not signed, and it does not continue chains that other
// workers have signed. retentionDays is how long settled calls are kept.
func NewSealer(store *Store, signer *proof.Signer, retentionDays int, log *slog.Logger) *Sealer {
	return &Sealer{store: store, signer: signer, retentionDays: retentionDays, log: log}
}

// Run seals until ctx ends, and then returns the error of ctx. It tries again after an error, and logs an error once until it changes.
func (s *Sealer) Run(ctx context.Context) error {
	tick := time.NewTicker(sealEvery)
	defer tick.Stop()
	for logged := ""; ; {
		reason := ""
		if _, err := s.Seal(ctx); err != nil && ctx.Err() == nil {
			reason = errs.Reason(err)
		}
		if reason != "" && reason != logged {
			s.log.Warn("audit: events are not sealed", "reason", reason)
		}
		logged = reason
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Seal seals the events that wait, and returns their number. It seals none while another sealer is at work. Without a key, it returns an
// error if a chain is signed.
func (s *Sealer) Seal(ctx context.Context) (sealed int, err error) {
	for {
		n, more, err := s.batch(ctx)
		sealed += n
		if err != nil || !more {
			return sealed, err
		}
	}
}

// beginRow is a row of the statement BeginSealing.
type beginRow struct {
	// First says that no other sealer is at work: this transaction has locked the row for sealers.
	First bool
	// Signed says that a worker has signed a chain.
	Signed bool
	Now    time.Time
}

// batch seals a batch in one transaction, and reports whether more events may wait.
func (s *Sealer) batch(ctx context.Context) (sealed int, more bool, err error) {
	var refused error // not returned to Within, because Within turns every error into an error of the database
	ctx, cancel := context.WithTimeout(ctx, sealTime)
	defer cancel()
	err = s.store.db.Within(ctx, "seal events", func(tx pgx.Tx) error {
		begin, _, err := db.Sent[beginRow](ctx, s.store.db, tx, db.Query("BeginSealing", db.Values{}))
		if err != nil || !begin.First {
			return err
		}
		if begin.Signed && s.signer == nil {
			refused = noKey{}
			return nil
		}
		rows, err := db.SentAll[eventRow](ctx, s.store.db, tx, db.Query("TakePending", db.Values{"batch": sealBatch, "bytes": sealBytes}))
		if err != nil || len(rows) == 0 {
			return err
		}
		sealed, more = len(rows), true
		return s.write(ctx, tx, rows, begin.Now)
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return 0, false, err
	}
	return sealed, more, nil
}

// write adds a seal for each event in rows to the chain of its tenant, and a new head to each of these chains. The rows of a tenant are in the order of their seals.
func (s *Sealer) write(ctx context.Context, tx pgx.Tx, rows []eventRow, now time.Time) error {
	byTenant, tenants := map[string][]audit.Row{}, []string{}
	for _, r := range rows {
		if byTenant[r.TenantID] == nil {
			tenants = append(tenants, r.TenantID)
		}
		byTenant[r.TenantID] = append(byTenant[r.TenantID], r.row())
	}
	found, err := db.SentAll[headRow](ctx, s.store.db, tx, db.Query("LastHeads", db.Values{"tenants": tenants}))
	if err != nil {
		return err
	}
	last := map[string]audit.Head{}
	for _, r := range found {
		last[r.TenantID] = r.head()
	}
	var seals []audit.Seal
	var owners []string // the tenant of each seal
	var heads []audit.Head
	for _, tenant := range tenants {
		before, link := last[tenant], audit.Start(tenant)
		if before.N > 0 {
			link = before.Link
		}
		added := audit.Extend(before.N, link, byTenant[tenant])
		head := audit.Next(before, tenant, added, now, s.retentionDays)
		if s.signer != nil {
			head = head.Sign(*s.signer)
		}
		for range added {
			owners = append(owners, tenant)
		}
		seals, heads = append(seals, added...), append(heads, head)
	}
	_, _, err = db.Sent[struct{}](ctx, s.store.db, tx, db.Query("AddSeals", sealValues(owners, seals)), db.Query("AddHeads", headValues(heads)))
	return err
}

func sealValues(owners []string, seals []audit.Seal) db.Values {
	return db.Values{
		"tenants": owners, "ns": db.Column(seals, func(s audit.Seal) int64 { return s.N }),
		"months": db.Column(seals, func(s audit.Seal) string { return s.Month }), "event_ids": db.Column(seals, func(s audit.Seal) string { return s.EventID }),
		"leaves": db.Column(seals, func(s audit.Seal) []byte { return s.Leaf }), "links": db.Column(seals, func(s audit.Seal) []byte { return s.Link }),
	}
}

func headValues(heads []audit.Head) db.Values {
	return db.Values{
		"tenants": db.Column(heads, func(h audit.Head) string { return h.TenantID }), "ns": db.Column(heads, func(h audit.Head) int64 { return h.N }),
		"links": db.Column(heads, func(h audit.Head) []byte { return h.Link }), "ats": db.Column(heads, func(h audit.Head) time.Time { return h.At }),
		"retentions": db.Column(heads, func(h audit.Head) int { return h.RetentionDays }), "afters": db.Column(heads, func(h audit.Head) int64 { return h.After }),
		"key_ids": db.Column(heads, func(h audit.Head) string { return h.KeyID }),
		// Without a key, a signature is an empty byte string, not NULL.
		"signatures": db.Column(heads, func(h audit.Head) []byte { return append([]byte{}, h.Signature...) }),
	}
}
