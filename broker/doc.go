// Package broker turns the opaque id of a connection into an authenticated client, for one attempt of one call, and gives the credential to
// nobody else: grants and what they let through, descriptions of providers, the kinds of credentials, the transport that adds them.
//
// It asks a Store for what stands in the record and a Sealer to open it, and knows neither database nor cipher. It must never log, and
// never let a credential into an error, a value that can be marshalled, or a request to a host that is not the connection's. Activities,
// adapters and worker may import it.
package broker
