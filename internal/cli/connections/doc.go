// Package connections has the command connections: accounts at other services, their credentials
// and their grants.
package connections
