package toolspec

import (
	"fmt"
	"strings"
	"time"
)

// Bounds of the cache of a tool's values.
const (
	// With NeverCached as CacheFor, Pawl keeps no value of the tool, whatever policy says.
	NeverCached time.Duration = -1
	// MinCacheFor is the shortest time for which a value is kept.
	MinCacheFor = time.Second
	// MaxCacheFor is the longest time for which a value is kept.
	MaxCacheFor = 30 * 24 * time.Hour
	// MaxCacheTags bounds the tags of a kept value.
	MaxCacheTags = 16
	// MaxCacheTag bounds a tag of a kept value, in bytes.
	MaxCacheTag = 128
)

// CacheScope says whose calls may be answered with a kept value. It never
// reaches beyond the tenant.
type CacheScope string

// The scopes.
const (
	// PerActor shares a value among the calls of one actor for one subject. It is
	// the default.
	PerActor CacheScope = ""
	// PerSession shares a value among the calls of one actor in one session.
	PerSession CacheScope = "session"
	// PerTenant shares a value among all actors of the tenant: it declares that the value does not
	// depend on the actor. A value that was read with a connection is still shared per actor only,
	// because a connection is a right of its actor.
	PerTenant CacheScope = "tenant"
)

// Valid reports whether s is one of the scopes.
func (s CacheScope) Valid() bool { return s == PerActor || s == PerSession || s == PerTenant }

// checkCache reports what a definition says wrongly about keeping values.
func (d Definition) checkCache() error {
	switch {
	case d.CacheFor > 0 && d.Effect != ReadOnly:
		return fmt.Errorf("cacheFor goes with the effect read_only only")
	case d.CacheFor != 0 && d.CacheFor != NeverCached && (d.CacheFor < MinCacheFor || d.CacheFor > MaxCacheFor):
		return fmt.Errorf("cacheFor must be between %s and %s", MinCacheFor, MaxCacheFor)
	case !d.CacheScope.Valid():
		return fmt.Errorf("cacheScope %q is none of session, tenant", d.CacheScope)
	}
	if err := CheckCacheTags(d.CacheTags); err != nil {
		return fmt.Errorf("cacheTags: %w", err)
	}
	return nil
}

// CheckCacheTags reports the first tag that breaks a rule: at most MaxCacheTags
// of 1 to MaxCacheTag bytes of printable ASCII without spaces. Tags are recorded
// in clear, so none may have the shape of a secret.
func CheckCacheTags(tags []string) error {
	if len(tags) > MaxCacheTags {
		return fmt.Errorf("more than %d tags", MaxCacheTags)
	}
	for i, tag := range tags {
		switch {
		case tag == "" || len(tag) > MaxCacheTag:
			return fmt.Errorf("tag %d must have 1 to %d bytes", i+1, MaxCacheTag)
		case strings.ContainsFunc(tag, func(r rune) bool { return r <= ' ' || r > '~' }):
			return fmt.Errorf("tag %d may hold only printable ASCII without spaces", i+1)
		case SecretValue(tag):
			return fmt.Errorf("tag %d has the shape of a secret", i+1)
		}
	}
	return nil
}
