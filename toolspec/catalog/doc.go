// Package catalog binds tools: it derives and compiles their schemas, checks
// every rule of the contract, gives each exactly the capabilities it declared,
// and keeps them by id.
//
// It never runs a tool and never decides whether one may run. Activities and
// the composition root import it.
package catalog
