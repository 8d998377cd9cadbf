// Package hydrate runs the activity that parses the arguments of a call and validates
// them against its tool. It keeps the provenance of the arguments for the record.
package hydrate
