// Package openfga asks an OpenFGA server whether a call is authorized, over its HTTP API. It is an adapter of the port in policy/authz.
//
// It must never keep an answer, write to the server, or take anything for a yes but a yes. docs/authorization.md shows the model that it
// asks by. Only worker imports it.
package openfga
