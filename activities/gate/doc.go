// Package gate judges whether a call may run. It runs at willAuthorize without the
// arguments, so that a caller who is denied learns nothing of them, and at willCheckConsent
// with them, where it may ask a person (DENY_BY_DEFAULT). Kill switches come first, then
// policy, then the authorization engine, then the connection of the call.
package gate
