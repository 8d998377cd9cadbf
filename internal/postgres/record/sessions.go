package record

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// sessionLives is how long a binding of a session counts that nobody binds again.
const sessionLives = 30 * 24 * time.Hour

// bindingRow is the row of SessionBindings and BindSession.
type bindingRow struct {
	Token, Factory string
	Args           json.RawMessage
	Version        int64
}

func (r bindingRow) binding() provide.Binding {
	return provide.Binding{
		Scope: provide.Session, Version: r.Version, Recipe: provide.Recipe{Token: r.Token, Factory: r.Factory, Args: r.Args},
	}
}

// SessionBindings returns what is bound for a session, by token.
func (s *Store) SessionBindings(ctx context.Context, key provide.SessionKey) ([]provide.Binding, error) {
	rows, err := db.All[bindingRow](ctx, s.db, "session bindings", db.Query("SessionBindings", db.Values{
		"tenant_id": db.Text(key.TenantID), "session_id": db.Text(key.SessionID), "lives": sessionLives,
	}))
	return db.Column(rows, bindingRow.binding), err
}

// BindSession keeps recipes for a session and returns them with their versions; none where the record has moved on. Of two for one token
// the later one counts.
func (s *Store) BindSession(ctx context.Context, in providers.SessionRow) ([]provide.Binding, error) {
	last := map[string]provide.Recipe{}
	for _, r := range in.Recipes {
		last[r.Token] = r
	}
	var recipes []provide.Recipe
	for _, r := range last {
		recipes = append(recipes, r)
	}
	slices.SortFunc(recipes, func(a, b provide.Recipe) int { return strings.Compare(a.Token, b.Token) })
	rows, err := db.All[bindingRow](ctx, s.db, "bind session", db.Query("BindSession", db.Values{
		"tenant_id": db.Text(in.Session.TenantID), "session_id": db.Text(in.Session.SessionID), "invocation_id": in.InvocationID, "epoch": in.Epoch,
		"temporal_run_id": executing(ctx),
		"tokens":          db.Column(recipes, func(r provide.Recipe) string { return db.Text(r.Token) }),
		"factories":       db.Column(recipes, func(r provide.Recipe) string { return db.Text(r.Factory) }),
		"args":            db.Column(recipes, func(r provide.Recipe) string { return *db.Document(orNull(r.Args)) }),
	}))
	return db.Column(rows, bindingRow.binding), err
}

func orNull(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("null")
	}
	return args
}

// DeleteOldSessions deletes up to most bindings of sessions that nobody bound again for 30 days, and returns how many.
func (s *Store) DeleteOldSessions(ctx context.Context, most int) (int, error) {
	n, err := s.db.Exec(ctx, "delete old sessions", db.Query("DeleteOldSessions", db.Values{"lives": sessionLives, "batch": most}))
	return int(n), err
}
