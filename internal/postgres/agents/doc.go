// Package agents keeps runs of agents: their rounds, and what people say to them. It must not know how
// a request is made of them. Package postgres imports it.
package agents
