// Package tools has the command tools: the tools that workers have published.
package tools
