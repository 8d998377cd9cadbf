// Package verify searches the data that Temporal and Postgres store for the fingerprints of
// secrets, to show that no secret has leaked.
//
// It walks histories by their protobuf descriptors and tables by the database's catalogue, so that
// it also searches fields and tables that are added later. A finding names the place and the
// secret's label: it never holds a secret, nor the text around it. Data that cannot be read is
// reported as unread, because it proves nothing.
//
// worker and the command line import it.
package verify
