// Package submitter verifies the proofs by which a trusted submitter vouches for the subject of a call: JSON Web Tokens, signed with
// Ed25519 by a key that an administrator registered for the tenant.
//
// It must never ask a clock: whether a proof was fresh when its call was admitted is for the database to say. Only worker imports it.
package submitter
