// Package agents stores the versions of agents, and which version of each is active. It must not read files of agents
// or run anything. Package postgres imports it, and programs that read its rows.
package agents
