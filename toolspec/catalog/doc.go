// Package catalog binds tools: it derives and compiles their schemas, checks
// every rule of the contract, gives each exactly the capabilities it declared,
// and keeps them by id. A catalog is what of them somebody may see, and picks
// those that fit a request.
//
// It never runs a tool and never decides whether one may run. Activities and
// the composition root import it.
package catalog
