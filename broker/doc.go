// Package broker turns the opaque id of a connection into an authenticated client for one attempt
// of one call. It has grants and the requests that they allow, descriptions of providers, the kinds
// of credentials, and the transport that adds a credential to a request.
//
// It reads the record through a Store and opens secrets through a Sealer, and knows neither
// database nor cipher. It must never log. It must never let a credential into an error, a value
// that can be marshalled, or a request to a host that does not belong to the connection.
// Activities, adapters and worker may import it.
package broker
