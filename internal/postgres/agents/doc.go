// Package agents keeps versions of agents, which version of each is active, and runs: their rounds, and what
// people say to them. It must not read files of agents or make requests to models. Package postgres imports it, and
// programs that read its rows.
package agents
