// Package catalog keeps the tools that workers publish, and returns those that a caller may
// see. It gets policy and kill switches from whoever makes it. Package postgres imports it.
package catalog
