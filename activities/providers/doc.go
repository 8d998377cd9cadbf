// Package providers gives hooks and tools what a call is provided with: what its worker has,
// and what hooks have bound for the call or for its session.
package providers
