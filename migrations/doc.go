// Package migrations is the database schema, as the steps that lead to it: NNNN_what.sql, each applied once and in order.
//
// A step that has been released is never changed and never undone: two releases share a database while one replaces the other, so a
// step must leave the older release working. Constraints have names, and comments say why.
//
// It must never hold code that runs SQL, or a function, trigger or extension: those would tie the releases together. Functions that ADRs
// name are the exceptions.
// internal/postgres applies the steps; nobody else imports it.
package migrations
