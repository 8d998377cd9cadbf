// Package tools has the command tools, which shows the tools that workers have published, and makes new ones.
package tools
