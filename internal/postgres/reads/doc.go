// Package reads has the statements for people and for checks of the database: calls with
// everything that the record has about them, approval requests, backlogs. It must not write.
// Package postgres imports it, and programs that show its rows.
package reads
