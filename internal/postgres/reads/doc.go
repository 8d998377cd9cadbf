// Package reads has the statements for people and for doctors of the database: calls, what
// is known of each, approval requests and backlogs. It only reads. Package postgres imports
// it, and programs that show its rows.
package reads
