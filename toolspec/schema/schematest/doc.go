// Package schematest generates JSON Schema documents with valid values, for tests of code that uses
// both.
package schematest
