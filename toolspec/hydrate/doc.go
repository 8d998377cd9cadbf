// Package hydrate turns bytes from outside into values the program may trust:
// it decodes an invocation strictly, takes the arguments of a call through
// parse, validate and instantiate, says where they came from, and takes the
// digests that bind records and approvals to exact inputs.
//
// It does no I/O, runs nothing and never repairs anything silently: what it
// overlooks has a name, and what it mends is marked. Activities and clients
// import it.
package hydrate
