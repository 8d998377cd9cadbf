// Package record keeps the record of calls, from admit to settle or sweep: requests and
// decisions on them, claims, limited capacity, kept results, outputs and what retention
// deletes. Each statement of a call names its epoch and the run that executes, locks the
// row of the call, and says by its answer whether it took effect. It never decides what a
// call may do. Package postgres imports it, and programs that read its rows.
package record
