// Package audit seals the events of the record into the chains of internal/audit, and reads chains for verification and
// export. It must not change or delete an event. Package internal/postgres imports it.
package audit
