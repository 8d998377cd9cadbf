// Package gate decides whether a call may run. The stage willAuthorize asks policy and
// the authorization engine. The stage willCheckConsent decides whether a person must
// approve the call.
package gate
