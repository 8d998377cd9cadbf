// Package authz is the port through which a call is authorised: may this actor, for
// this subject, run this tool. Policy says what a tenant's calls may do at all; an
// engine behind this port says who may do it.
//
// It holds the question, the answer and the interface of an engine, and imports only
// the vocabulary. Engines stand elsewhere: the built-in one on relations in
// internal/postgres, the adapter for OpenFGA in internal/openfga, a user's own
// wherever it likes. It must never hold an engine that allows everything: that one
// is in authztest, which cannot be linked into a program.
package authz
