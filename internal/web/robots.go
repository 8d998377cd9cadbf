package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of robots.txt (RFC 9309).
const (
	maxRules = 128
	// maxRobots and maxRobotLines bound what is read of a robots.txt, in bytes and in lines.
	maxRobots     = 128 << 10
	maxRobotLines = 2000
	rulesFor      = time.Hour
	brokenFor     = time.Minute
	robotsPath    = "/robots.txt"
	robotsRefusal = "robots.txt of the host does not allow programs to fetch this page"
)

// rules is the robots.txt of a host.
type rules struct {
	list []rule
	// broken says that the server could not answer, which counts as a refusal.
	broken bool
	until  time.Time
}

// askRobots returns an error if robots.txt of the host forbids the URL.
func (f *Fetcher) askRobots(ctx context.Context, u *url.URL, tenantID string) error {
	if u.Path == robotsPath {
		return nil
	}
	key := tenantID + "\x00" + u.Scheme + "://" + u.Host
	r, ok := f.robots.Get(key)
	if !ok || time.Now().After(r.until) {
		var err error
		if r, err = f.readRobots(ctx, u); err != nil {
			return err
		}
		f.robots.Remove(key)
		f.robots.GetOrAdd(key, func() *rules { return r })
	}
	switch {
	case r.broken:
		return fault(capability.WebRobots, "robots.txt of the host cannot be read now, so no page of it is fetched")
	case !r.allow(u):
		return fault(capability.WebRobots, robotsRefusal)
	}
	return nil
}

// readRobots gets robots.txt of a host. It follows redirects within the host; another redirect counts as no
// robots.txt.
func (f *Fetcher) readRobots(ctx context.Context, u *url.URL) (*rules, error) {
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: robotsPath}
	for range maxRedirects + 1 {
		a, err := f.get(ctx, at, nil, maxRobots)
		if err != nil {
			return nil, err
		}
		if a.location != "" {
			next, err := f.follow(at, a.location)
			if err != nil || next.Hostname() != u.Hostname() || !f.allowsPort(next) {
				break
			}
			at = next
			continue
		}
		if a.status >= http.StatusInternalServerError || a.status == http.StatusTooManyRequests {
			return &rules{broken: true, until: time.Now().Add(brokenFor)}, nil
		}
		if a.status < 200 || a.status > 299 {
			break
		}
		return &rules{list: parseRobots(a.body), until: time.Now().Add(rulesFor)}, nil
	}
	return &rules{until: time.Now().Add(rulesFor)}, nil //nolint:nilerr // a redirect that leads elsewhere: the host has no rules
}
