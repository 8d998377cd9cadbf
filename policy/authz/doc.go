// Package authz is the port for authorization: may this actor, for this subject, run this tool?
// Policy decides what the calls of a tenant may do; an engine behind this port decides who may do
// it.
//
// The package has the request, the decision and the interface of an engine. It imports only
// toolspec. The engines are in other packages: the built-in engine for relations in
// internal/postgres, the adapter for OpenFGA in internal/openfga, and the engines of users in
// their programs. The package must not contain an engine that allows everything. Such an engine is
// in authztest, which cannot be linked into a program.
package authz
