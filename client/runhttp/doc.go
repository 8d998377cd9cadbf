// Package runhttp serves the events of a run to browsers and other HTTP clients, as they happen:
// GET /v1/runs/{run}/events?tenant=TENANT. The answer is a UI message stream of the AI SDK in
// server-sent events; docs/streams.md describes it. With Options.Catalogs it also serves the tools that the
// client may call: GET /v1/catalog?tenant=TENANT. With Options.Registry, administrators of a tenant register and
// remove tools: /v1/tools and /v1/tools/{name}.
//
// A program mounts the handler of New, or runs `pawl serve`. The handler asks an Authenticator who the client
// is, and Owners whether that person may watch the run. It must never take a token from a URL. Its answer must
// be the same for a run that the client may not watch and for a run that does not exist. Anybody may import it.
package runhttp
