// Package hydrate turns bytes from outside into values the program may trust:
// it decodes an invocation strictly, parses arguments and takes the digests
// that bind records and approvals to exact inputs.
//
// It does no I/O and never repairs anything silently. Activities and clients
// import it.
package hydrate
