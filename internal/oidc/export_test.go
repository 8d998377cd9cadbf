package oidc

import "time"

// Paced makes a verifier ask its issuers at another pace than the usual one.
func (v *Verifier) Paced(keep, every, retry, fetch, wait time.Duration) {
	for _, set := range v.keys {
		set.pace = pace{keep: keep, every: every, retry: retry, fetch: fetch, wait: wait}
	}
}
