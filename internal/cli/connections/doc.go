// Package connections has the command `pawl connections`. It manages connections, which are
// accounts at other services, with their credentials and grants.
package connections
