// Package querytest prepares the statements of a store on a migrated schema. The tests of the
// stores import it.
package querytest
