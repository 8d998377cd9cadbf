// Package providers gives hooks and tools the providers of a call: the providers of its worker,
// and the factories that hooks have bound for the call or for its session.
package providers
