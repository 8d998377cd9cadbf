// Package agentfile reads and writes the files in which people describe agents, in YAML or its subset JSON. It
// refuses a document that no run could use, and a credential in a document. It must not do I/O or store anything.
// The commands of agents import it. Workflows must not: they use package agent, which imports no YAML.
package agentfile
