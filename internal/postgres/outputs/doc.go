// Package outputs stores data that is too large for a result: large values and the streams of tools, in compressed chunks with an index by
// byte and by line. It never holds a whole stream in memory. A reference belongs to one tenant, and the chunks of one tenant stay
// within its quota.
//
// It must not decide who may read an output within its tenant. It does not change data: its callers must mask a value and remove secrets
// before they store it. Package postgres imports it.
package outputs
