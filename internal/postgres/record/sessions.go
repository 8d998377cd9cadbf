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

// sessionLives is how long a session binding is valid after it was last written.
const sessionLives = 30 * 24 * time.Hour

// bindingRow is a row of the statements SessionBindings and BindSession.
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

// SessionBindings returns the valid bindings of a session, ordered by token.
func (s *Store) SessionBindings(ctx context.Context, key provide.SessionKey) ([]provide.Binding, error) {
	rows, err := db.All[bindingRow](ctx, s.db, "session bindings", db.Query("SessionBindings", db.Values{
		"tenant_id": db.Text(key.TenantID), "session_id": db.Text(key.SessionID), "lives": sessionLives,
	}))
	return db.Column(rows, bindingRow.binding), err
}

// BindSession stores recipes for a session and returns them with their versions. If another epoch or
// Temporal run owns the call by now, it stores and returns nothing. If two recipes have the same
// token, it stores the later recipe.
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

// DeleteOldSessions deletes up to limit session bindings that were last written more than 30 days
// ago. It returns their number.
func (s *Store) DeleteOldSessions(ctx context.Context, limit int) (int, error) {
	n, err := s.db.Exec(ctx, "delete old sessions", db.Query("DeleteOldSessions", db.Values{"lives": sessionLives, "batch": limit}))
	return int(n), err
}
