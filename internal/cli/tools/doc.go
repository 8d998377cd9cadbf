// Package tools has the command tools, which shows the tools that workers have published.
package tools
