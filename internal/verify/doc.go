// Package verify proves that no secret has leaked: it reads what Temporal and Postgres keep and searches all of it for the fingerprints of
// secrets.
//
// Histories are walked by their protobuf descriptions and tables by the database's catalogue, so that a field or a table that is added
// later is searched too. What it finds is told by its place and by the secret's label: a finding never holds a secret, nor the text around
// it. What it cannot read counts as unread, for it proves nothing.
//
// worker and the doors import it.
package verify
