// Package audit hashes the events of the record into a chain for each tenant, signs the heads of chains, and verifies
// chains. It does no I/O and reads no clock. The store of chains, the worker and the commands import it.
package audit
