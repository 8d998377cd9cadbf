// Package agents has the commands of agents: agent. It must not run an agent in its own process. internal/cli imports it.
package agents
