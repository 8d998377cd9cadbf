// Package policytest gives the tests of the packages below policy documents, golden files, and a
// check of positions.
package policytest
