// Package gate judges whether a call may run. It runs at willAuthorize without the
// arguments, so that a denial says nothing about them. It runs at willCheckConsent with the
// arguments, and may ask a person there. Kill switches come first, then policy, then the
// authorization engine, then the connection of the call. A call that no policy allows is denied.
package gate
