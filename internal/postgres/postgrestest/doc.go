// Package postgrestest gives tests databases with Pawl's schema. Only tests import it.
package postgrestest
