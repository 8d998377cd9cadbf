// Package hydrate turns untrusted bytes into values that the program can trust. It decodes an
// invocation strictly, takes the arguments of a call through parse, validate and instantiate,
// records their provenance, and computes the digests that bind records and approvals to exact
// inputs.
//
// It does no I/O and runs no tool. It changes nothing silently: each tolerance has a name, and each
// repair is recorded. Activities and clients import it.
package hydrate
