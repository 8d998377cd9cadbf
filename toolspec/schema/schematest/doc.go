// Package schematest generates JSON Schema documents together with values that
// are valid under them, for tests of what carries both.
package schematest
