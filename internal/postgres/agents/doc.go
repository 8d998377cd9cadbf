// Package agents stores the versions of agents, the active version of each agent, and runs of agents with their rounds and
// the messages of people. It must not read files of agents or make requests to models. Package postgres and programs
// that read its rows import it.
package agents
