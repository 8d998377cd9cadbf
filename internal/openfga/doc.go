// Package openfga asks an OpenFGA server whether a call is authorized, over its HTTP API. It is an adapter of the port in policy/authz.
//
// It must never keep an answer, write to the server, or count anything but a clear yes as a permission. docs/authorization.md shows the
// model for which it asks. Only worker imports it.
package openfga
